export const NO_CALL = 'it is not known which call asks: there is none in progress, or more than one';

/** The library sends code and message as they are; those of its own errors begin with a text that the receiver adds again. */
export function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
