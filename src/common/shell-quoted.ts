/** One word for a shell, whatever it holds; NUL excepted, which no argument can have. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same for people who read it: quoted only where it has to be. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : shellQuoted(word);
}
