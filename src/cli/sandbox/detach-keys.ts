const CTRL_BRACKET = 0x1d;
const [TILDE, DOT, RETURN, NEWLINE] = [0x7e, 0x2e, 0x0d, 0x0a];

/** Finds the keys that detach from a terminal in the typed input: Ctrl-], or `~.` at the beginning of a line, where `~~` is one `~`. */
export function createDetachKeys(): { take(bytes: Uint8Array): { pass: Buffer; detach: boolean } } {
  let state: 'line' | 'start' | 'tilde' = 'start';
  return {
    take(bytes) {
      const pass: number[] = [];
      for (const byte of bytes) {
        if (byte === CTRL_BRACKET || (state === 'tilde' && byte === DOT)) return { pass: Buffer.from(pass), detach: true };
        if (state === 'start' && byte === TILDE) {
          // Held back until the next key decides its meaning.
          state = 'tilde';
          continue;
        }
        if (state === 'tilde' && byte !== TILDE) pass.push(TILDE);
        pass.push(byte);
        state = byte === RETURN || byte === NEWLINE ? 'start' : 'line';
      }
      return { pass: Buffer.from(pass), detach: false };
    },
  };
}
