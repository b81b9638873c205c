import type { Caller } from './caller.ts';
import { LIMITS } from './frames.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import type { EndOf, LineOf, LineOperation, RequestOf } from './protocol-types.ts';
import { parseMessage } from './validate-messages.ts';

/** Makes a call whose data are lines of JSON, each checked against the operation's `lines`. */
export async function parseLines<O extends LineOperation>(caller: Caller, operation: O, fields: RequestOf<O>): Promise<{ lines: LineOf<O>[]; end: EndOf<O> }> {
  let lines: LineOf<O>[] = [];
  let size = 0;
  const begin = () => createCheckedLineReader(operation, (line) => lines.push(line));
  let read = begin();
  const end = await caller.call({
    operation,
    fields: () => fields,
    onData(chunk) {
      size += chunk.length;
      if (size > LIMITS.listedBytes) throw new ProtocolBreach('a list without end');
      read(chunk);
    },
    onRepeat() {
      lines = [];
      size = 0;
      read = begin();
    },
  });
  return { lines, end };
}

/** Reads the lines of an endless stream from its chunks, and passes on each line, checked against the operation's `lines`. */
export function createCheckedLineReader<O extends LineOperation>(operation: O, onLine: (line: LineOf<O>) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const buffer = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let start = 0;
    for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10, start)) {
      const line = buffer.subarray(start, end);
      start = end + 1;
      onLine(parseMessage(operation, 'lines', line));
    }
    pending = buffer.subarray(start);
    if (pending.length > LIMITS.frameBytes) throw new ProtocolBreach('a line without end');
  };
}
