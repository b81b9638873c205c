/** Prefixes of the ids that users and operators see. */
export type IdPrefix = 'conv' | 'turn' | 'step' | 'cmp' | 'call' | 'msg' | 'sbx' | 'snap' | 'blob' | 'evt' | 'hook' | 'req' | 'rewind';

/** Crockford base 32. */
export const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 12;
/** Characters after the prefix. */
export const ID_LENGTH = TIME_LENGTH + RANDOM_LENGTH;

/**
 * Makes a prefixed id whose text sorts by time: `conv_` + 10 characters of milliseconds + 12 random ones (Crockford base 32).
 * Time and randomness are arguments so that workflow code can pass its own deterministic sources.
 */
export function makeId(prefix: IdPrefix, nowMs: number, random: () => number): string {
  let time = '';
  for (let rest = nowMs; time.length < TIME_LENGTH; rest = Math.floor(rest / 32)) time = ID_ALPHABET.charAt(rest % 32) + time;
  let tail = '';
  while (tail.length < RANDOM_LENGTH) tail += ID_ALPHABET.charAt(Math.floor(random() * 32));
  return `${prefix}_${time}${tail}`;
}

/** Whether an id has the form of those that are made here. */
export function isMadeId(prefix: IdPrefix, id: string): boolean {
  return (
    id.startsWith(`${prefix}_`) &&
    id.length === prefix.length + 1 + ID_LENGTH &&
    Array.from(id.slice(prefix.length + 1)).every((one) => ID_ALPHABET.includes(one))
  );
}

/** When an id was made, in milliseconds; undefined for one that is not of the form of those that are made here. */
export function timeOfId(prefix: IdPrefix, id: string): number | undefined {
  if (!isMadeId(prefix, id)) return undefined;
  const digits = Array.from(id.slice(prefix.length + 1, prefix.length + 1 + TIME_LENGTH));
  return digits.reduce((time, digit) => time * 32 + ID_ALPHABET.indexOf(digit), 0);
}

/** Id of the conversation's sandbox; derived from the conversation's id, so that a repeated open finds the same sandbox. */
export function sandboxIdOf(conversationId: string): string {
  return `sbx_${conversationId.replace(/^conv_/, '')}`;
}
