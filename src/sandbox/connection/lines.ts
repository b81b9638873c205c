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
