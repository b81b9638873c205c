const NEWLINE = 10;

interface LineReaderOptions {
  maxBytes: number;
  onLine: (line: string) => void;
  /** Told once; nothing is read after it. */
  onTooLong: () => void;
}

/** Cuts chunks of bytes into lines; memory never holds more than one line of `maxBytes`. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  const keep = (part: Buffer): boolean => {
    // Over the cap it stays, so that the rest is thrown away.
    if (size > maxBytes) return false;
    size += part.length;
    if (size <= maxBytes) return parts.push(part) > 0;
    parts = [];
    onTooLong();
    return false;
  };
  return (chunk) => {
    let start = 0;
    let end = chunk.indexOf(NEWLINE);
    while (end !== -1) {
      if (!keep(chunk.subarray(start, end))) return;
      const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      size = 0;
      start = end + 1;
      onLine(line.toString());
      end = chunk.indexOf(NEWLINE, start);
    }
    // Copied: the chunk's memory is used again for the next one.
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)));
  };
}
