/** Whether a path below the options of a sandbox leads to a credential. The options are stored with it, so these have to stay references. */
export function isCredential([key, , inner]: PropertyKey[]): boolean {
  return key === 'secrets' || (key === 'egress' && inner === 'headers');
}
