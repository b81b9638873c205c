/**
 * Whether a text looks like the address of a Postgres database: a URL, or the directory of its socket. The driver reads any other text as a name on a host
 * "base", and reports that.
 */
export function isDatabaseAddress(text: string): boolean {
  return /^(?:postgres(?:ql)?:\/\/|socket:|\/)/i.test(text);
}

export const DATABASE_ADDRESS = 'postgres://user:password@host:port/database';
