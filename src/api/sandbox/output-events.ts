import type { Json } from '../../contracts/json.ts';
import type { Message } from '../../hosts/channel/messages.ts';

/** Output of a command as server-sent events. */
export interface OutputEvents {
  of(message: Message): string;
  problem(problem: Json): string;
}

type Stream = 'stdout' | 'stderr';

/** The id of an event says how many bytes of both streams the reader has with it. A character whose bytes come in two pieces is sent with the second one. */
export function createOutputEvents(from: Record<Stream, number>): OutputEvents {
  const offsets = { ...from };
  const held = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const event = (type: string, data: Json) => `id: ${offsets.stdout}-${offsets.stderr}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const take = (stream: Stream, bytes: Buffer, rest: number) => {
    const whole = bytes.subarray(0, bytes.length - rest);
    held[stream] = Buffer.from(bytes.subarray(whole.length));
    offsets[stream] += whole.length;
    return whole.length === 0 ? '' : event(stream, { text: whole.toString() });
  };
  return {
    of(message) {
      if (message.kind === 'json') return take('stdout', held.stdout, 0) + take('stderr', held.stderr, 0) + event('result', message.value);
      const bytes = Buffer.concat([held[message.stream], message.bytes]);
      return take(message.stream, bytes, unfinished(bytes));
    },
    problem: (problem) => event('problem', problem),
  };
}

/** Number of bytes at the end that begin a character of UTF-8 and do not end it. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

/** Bytes of the character that begins with this one. */
function lengthOf(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}
