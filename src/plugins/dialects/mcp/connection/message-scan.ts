import { createExcessScan } from '../../../../contracts/foreign-json.ts';

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];
const DATA = Buffer.from('data:');
/** Readers of streams leave them out at the beginning. */
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);

/** Scans a server's messages before the library parses them. Returns why a message is refused, or undefined. */
export type MessageScan = (chunk: Uint8Array) => string | undefined;

/** Scans a body that is one message. */
export function scanBody(maxBytes: number): MessageScan {
  const excess = createExcessScan();
  let size = 0;
  return (chunk) => {
    size += chunk.length;
    if (size > maxBytes) return tooLarge(maxBytes);
    for (const byte of chunk) excess.take(byte);
    return excess.found();
  };
}

/** Scans a stream of events, each with one message in its lines of data. An empty line ends an event. Other lines contain no JSON. */
export function scanEvents(maxBytes: number): MessageScan {
  let excess = createExcessScan();
  let size = 0;
  /** Of the current line: its length, and how much of `data:` it begins with so far, or -1. */
  let [length, matched] = [0, 0];
  let last = 0;
  let isBeginning = true;
  /** Of an event that has ended: all of it may have come in one chunk. */
  let found: string | undefined;
  const endLine = (): void => {
    found ??= excess.found();
    if (length === 0) [excess, size] = [createExcessScan(), 0];
    [length, matched] = [0, 0];
  };
  const take = (byte: number): void => {
    length += 1;
    if (matched === DATA.length) excess.take(byte);
    else matched = matched !== -1 && byte === DATA[matched] ? matched + 1 : -1;
  };
  return (chunk) => {
    for (const byte of chunk) {
      size += 1;
      isBeginning &&= BYTE_ORDER_MARK.has(byte);
      if (isBeginning) continue;
      const isSecondHalf = byte === LINE_FEED && last === CARRIAGE_RETURN;
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) take(byte);
      else if (!isSecondHalf) endLine();
      last = byte;
      if (size > maxBytes) return tooLarge(maxBytes);
    }
    return found ?? excess.found();
  };
}

function tooLarge(maxBytes: number): string {
  return `is larger than ${maxBytes} bytes`;
}
