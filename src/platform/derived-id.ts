import { createHash } from 'node:crypto';
import { ID_ALPHABET, ID_LENGTH, type IdPrefix } from '../contracts/ids.ts';

/** An id that is the same for the same parts. */
export function derivedId(prefix: IdPrefix, parts: (string | null)[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([...parts, prefix]))
    .digest();
  return `${prefix}_${[...digest.subarray(0, ID_LENGTH)].map((byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('')}`;
}
