/** A valid http address as the beginning of others: without slashes at its end, and with what addresses may not have encoded. */
export function baseAddress(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}
