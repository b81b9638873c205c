import { createHash } from 'node:crypto';
import { failure } from '../../contracts/errors.ts';
import { ID_ALPHABET, ID_LENGTH, type IdPrefix } from '../../contracts/ids.ts';
import type { Caller } from '../auth/caller.ts';

/** Ids that are the same for each repetition of a request: what it makes exists once. */
export interface RepeatableIds {
  key: string;
  id(prefix: IdPrefix): string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Ids made of the caller's tenant, the place (such as a conversation) and the request's `Idempotency-Key`. Undefined without that header.
 * @throws INVALID_ARGUMENT for a key that cannot be used
 */
export function repeatableIds({ tenantId }: Caller, headers: Record<string, unknown>, place: string): RepeatableIds | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw failure('INVALID_ARGUMENT', { what: 'Idempotency-Key', problem: 'it cannot be used', fix: 'Send 1 to 255 visible ASCII characters' });
  }
  return { key, id: (prefix) => `${prefix}_${textOf([tenantId ?? null, place, key, prefix])}` };
}

function textOf(parts: (string | null)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest();
  return [...digest.subarray(0, ID_LENGTH)].map((byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('');
}
