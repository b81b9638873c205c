import type { JsonObject } from '../../contracts/json.ts';
import type { Caller } from './caller.ts';
import { LIMITS } from './frames.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import { parseMessage, type Operation } from './validate.ts';

/** Makes a call whose data are lines of JSON, each checked against the operation's `lines`. */
export async function parseLines(caller: Caller, operation: Operation, fields: JsonObject): Promise<{ lines: JsonObject[]; end: JsonObject }> {
  let lines: JsonObject[] = [];
  let size = 0;
  const begin = () => createLineReader(operation, (line) => lines.push(line));
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

/** Takes the chunks of a stream of lines without end and gives each line, checked against the operation's `lines`. */
export function createLineReader(operation: Operation, onLine: (line: JsonObject) => void): (chunk: Buffer) => void {
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
