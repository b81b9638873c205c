/** Whether a text is an address to listen at: `host:port`, `[::1]:port`. What else a URL may have, such as a path or a user, would be left out silently. */
export function isHostAndPort(text: string): boolean {
  return /^[^\s/?#@\\]+:\d{1,5}$/.test(text) && URL.canParse(`http://${text}`);
}
