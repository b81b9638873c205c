import { failure } from '../../contracts/errors.ts';
import { hasTenant, type Caller } from './caller.ts';

/** The tenant of something new. @throws INVALID_ARGUMENT for one that the caller does not have */
export function tenantFor(caller: Caller, wanted: string | undefined): string | undefined {
  if (wanted === undefined || hasTenant(caller, wanted)) return caller.tenantId ?? wanted;
  throw failure('INVALID_ARGUMENT', { what: 'body.tenant', problem: 'it is not the tenant of this key', fix: 'Leave it out' });
}

/** The user of something new. @throws INVALID_ARGUMENT when there is none, and for another than the one that the caller speaks for */
export function userFor({ userId }: Caller, wanted: string | undefined): string {
  const user = userId ?? wanted;
  if (user === undefined) throw failure('INVALID_ARGUMENT', { what: 'body.user', problem: 'it is undefined', fix: 'Give a text' });
  if (wanted === undefined || wanted === user) return user;
  throw failure('INVALID_ARGUMENT', { what: 'body.user', problem: 'it is not the user of this token', fix: 'Leave it out' });
}

/** The same where something that exists may have a user already: undefined when the request names none, and the caller speaks for none. */
export function ownUser(caller: Caller, wanted: string | undefined): string | undefined {
  return caller.userId === undefined ? wanted : userFor(caller, wanted);
}
