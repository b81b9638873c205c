import { GrowingBytes } from './growing-bytes.ts';

const NEWLINE = 10;

interface LineReaderOptions {
  maxBytes: number;
  onLine: (line: string) => void;
  /** Called once; nothing is read after it. */
  onTooLong: () => void;
}

/** Splits chunks of bytes into lines. Keeps no more than one line of `maxBytes` in memory. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): (chunk: Buffer) => void {
  const kept = new GrowingBytes();
  let isOver = false;
  const keep = (part: Buffer): boolean => {
    if (isOver) return false;
    isOver = kept.length + part.length > maxBytes;
    if (!isOver) kept.add(part);
    else {
      kept.take();
      onTooLong();
    }
    return !isOver;
  };
  return (chunk) => {
    let start = 0;
    let end = chunk.indexOf(NEWLINE);
    while (end !== -1) {
      if (!keep(chunk.subarray(start, end))) return;
      const line = kept.take().toString();
      start = end + 1;
      onLine(line);
      end = chunk.indexOf(NEWLINE, start);
    }
    keep(chunk.subarray(start));
  };
}
