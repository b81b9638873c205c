/** Quotes any text as one word for a shell. NUL is not handled: no argument of a program can contain it. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same for people to read: quoted only when necessary. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : shellQuoted(word);
}
