import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Caller } from './caller.ts';
import { LIMITS } from './frames.ts';
import { parseMessage, type Operation } from './validate.ts';

/** Makes a call whose data are lines of JSON, each checked against the operation's `lines`. */
export async function parseLines(
  caller: Caller,
  operation: Operation,
  fields: JsonObject,
  sandboxId: string,
): Promise<{ lines: JsonObject[]; end: JsonObject }> {
  let chunks: Buffer[] = [];
  let size = 0;
  const end = await caller.call({
    operation,
    fields: () => fields,
    onData(chunk) {
      size += chunk.length;
      if (size > LIMITS.listedBytes) throw new RangeError('a list without end');
      chunks.push(chunk);
    },
    onRepeat() {
      chunks = [];
      size = 0;
    },
  });
  try {
    return { lines: splitLines(Buffer.concat(chunks)).map((line) => parseMessage(operation, 'lines', line)), end };
  } catch (error) {
    if (error instanceof RangeError) throw failure('SANDBOX_PROTOCOL', { sandboxId, problem: error.message }, error);
    throw error;
  }
}

/** Takes the chunks of a stream of lines without end and gives each line, checked against the operation's `lines`. */
export function createLineReader(operation: Operation, onLine: (line: JsonObject) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const buffer = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const end = buffer.lastIndexOf(10) + 1;
    pending = buffer.subarray(end);
    if (pending.length > LIMITS.frameBytes) throw new RangeError('a line without end');
    for (const line of splitLines(buffer.subarray(0, end))) onLine(parseMessage(operation, 'lines', line));
  };
}

function splitLines(buffer: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < buffer.length;) {
    const newline = buffer.indexOf(10, start);
    const end = newline < 0 ? buffer.length : newline;
    lines.push(buffer.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
