import { failure } from '../../contracts/errors.ts';
import { mayReach, type Caller } from './caller.ts';

/** The tenant of something new. @throws INVALID_ARGUMENT for one that the caller does not have */
export function tenantFor(caller: Caller, wanted: string | undefined): string | undefined {
  if (wanted === undefined || mayReach(caller, wanted)) return caller.tenantId ?? wanted;
  throw failure('INVALID_ARGUMENT', { what: 'body.tenant', problem: 'it is not the tenant of this key', fix: 'Leave it out' });
}
