const NEWLINE = 10;

interface LineReaderOptions {
  maxBytes: number;
  onLine: (line: string) => void;
  /** Called once; nothing is read after it. */
  onTooLong: () => void;
}

/** Splits chunks of bytes into lines. Keeps no more than one line of `maxBytes` in memory. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  const keep = (part: Buffer): boolean => {
    // The size stays over the limit, so that the rest is discarded.
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
    // Copied: the chunk's memory is reused for the next chunk.
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)));
  };
}
