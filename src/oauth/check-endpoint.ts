const LONGEST_URL = 4_000;

/** Whether a host is this machine by its name. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * Checks an address that a server has named. Only https is used, and http on this machine for a server on this machine.
 * @param of the server for which it is used
 * @throws an Error that says what is wrong with it
 */
export function checkEndpoint(given: string, of: URL): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const shown = JSON.stringify(given.slice(0, 200));
  if (!url) throw new Error(`${shown} is not a URL`);
  const isLocal = url.protocol === 'http:' && isLoopback(url) && isLoopback(of);
  if (url.protocol !== 'https:' && !isLocal) throw new Error(`${shown} is not an https address`);
  if (url.username !== '' || url.password !== '') throw new Error(`${shown} contains a user or a password`);
  if (url.href.length > LONGEST_URL) throw new Error(`${shown} is longer than ${LONGEST_URL} characters`);
  return url;
}
