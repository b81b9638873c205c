import type { CheckpointDifferences, DifferenceSide, FileDifference } from '../api/differences.ts';
import { known } from './checkpoint-calls.ts';
import type { Caller } from './caller.ts';
import { LIMITS } from './frames.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import type { LineOf } from './protocol-types.ts';
import { parseMessage } from './validate-messages.ts';

const NEW_LINE = 10;

type Line = LineOf<'compareCheckpoint'>;

/** The operation cannot be repeated in its middle: what was passed on would come again. */
export function createDifferenceCalls(caller: Caller): CheckpointDifferences {
  return {
    compareCheckpoint: ({ from, to, paths, mostBytes }, onDifference, { signal } = {}) =>
      known(caller, from.number, async () => {
        const read = createReader(mostBytes, onDifference);
        // Chunks within the window come although an earlier one is still at work.
        let last = Promise.resolve();
        const { at, closed } = await caller.call({
          operation: 'compareCheckpoint',
          fields: () => ({
            number: from.number,
            at: from.at,
            ...(to && { toNumber: to.number, toAt: to.at }),
            ...(paths && { paths }),
            mostBytes,
          }),
          onData: (chunk) => (last = last.then(() => read(chunk))),
          once: true,
          ...(signal && { signal }),
        });
        await last;
        return { at, closed };
      }),
  };
}

/** Lines of JSON, each with as many bytes behind it as it says. */
function createReader(mostBytes: number, onDifference: (difference: FileDifference) => Promise<void>): (chunk: Buffer) => Promise<void> {
  const held = createHeld();
  let line: Line | undefined;
  return async (chunk) => {
    held.add(chunk);
    for (;;) {
      line ??= parsed(held.line(), mostBytes);
      const contents = line && held.take(sizeOf(line));
      if (!line || !contents) return;
      const difference = toDifference(line, contents);
      line = undefined;
      await onDifference(difference);
    }
  };
}

function parsed(bytes: Buffer | undefined, mostBytes: number): Line | undefined {
  if (bytes === undefined) return undefined;
  const line = parseMessage('compareCheckpoint', 'lines', bytes);
  if (sizeOf({ before: line.before }) > mostBytes || sizeOf({ after: line.after }) > mostBytes) throw new ProtocolBreach('more of a file than was asked for');
  return line;
}

function sizeOf({ before, after }: { before?: Line['before'] | undefined; after?: Line['after'] | undefined }): number {
  return (before?.bytes ?? 0) + (after?.bytes ?? 0);
}

/** What has come and was not taken yet. */
function createHeld() {
  let parts: Buffer[] = [];
  let size = 0;
  const add = (bytes: Buffer) => {
    if (bytes.length > 0) parts.push(bytes);
    size += bytes.length;
  };
  const joined = (): Buffer => {
    const [first] = parts;
    // Many lines come in one part, which is not copied for each of them.
    return parts.length === 1 && first ? first : Buffer.concat(parts, size);
  };
  const take = (count: number): Buffer | undefined => {
    if (size < count) return undefined;
    const all = joined();
    [parts, size] = [[], 0];
    add(all.subarray(count));
    return all.subarray(0, count);
  };
  return {
    add,
    take,
    /** Without its end. */
    line(): Buffer | undefined {
      // Only the newest part can have the end of the line: earlier ones were searched.
      if (!(parts.at(-1)?.includes(NEW_LINE) ?? false)) {
        if (size > LIMITS.frameBytes) throw new ProtocolBreach('a line without end');
        return undefined;
      }
      const all = joined();
      parts = [all];
      const end = all.indexOf(NEW_LINE);
      return take(end + 1)?.subarray(0, end);
    },
  };
}

function toDifference({ path, before, after, problem }: Line, contents: Buffer): FileDifference {
  const middle = before?.bytes ?? 0;
  return {
    path,
    ...(before && { before: toSide(before, contents.subarray(0, middle)) }),
    ...(after && { after: toSide(after, contents.subarray(middle)) }),
    ...(problem !== undefined && { problem }),
  };
}

function toSide({ bytes, ...side }: NonNullable<Line['before']>, content: Buffer): DifferenceSide {
  return { ...side, ...(bytes !== undefined && { content }) };
}
