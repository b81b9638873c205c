import type { NewEvent } from '../../store/store.ts';
import { splitCharacters } from './split-characters.ts';

type Stream = 'stdout' | 'stderr';

/** The `tool.output` events of one call. */
export interface OutputEvents {
  /** Takes output of a command. Bytes that an earlier attempt reported are counted and left out. */
  push(stream: Stream, chunk: Buffer): void;
  /** Sets how many bytes of each stream were reported before; for calls that are attached to again. */
  skip(stdoutBytes: number, stderrBytes: number): void;
  /** Bytes seen of each stream, over all attempts. */
  seen(): { stdout: number; stderr: number };
  /** Ends the batching and returns the events that were not appended yet, to be stored with the result; `more` means that another attempt continues. */
  drain(more: boolean): Promise<NewEvent[]>;
}

const INTERVAL_MS = 100;
/** Bytes of output that are reported per call; the whole output is in the sandbox. */
const MAX_BYTES = 65_536;

interface Call {
  callId: string;
  turnId: string;
  stepId: string;
  append: (events: NewEvent[]) => Promise<void>;
  onProblem: (error: unknown) => void;
}
interface Piece {
  stream: Stream;
  /** Position of the text in the stream; `bytes` is its length there. */
  offset: number;
  bytes: number;
  text: string;
}

/** Batches a call's output into events: at most ten appends a second, and none for a call that ends sooner. */
export function createOutputEvents(call: Call): OutputEvents {
  const seen = { stdout: 0, stderr: 0 };
  const told = { stdout: 0, stderr: 0 };
  /** The first bytes of a character whose other bytes have not arrived. */
  const rests: Record<Stream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const batches = createBatches(call);
  return {
    push(stream, chunk) {
      const start = seen[stream];
      seen[stream] += chunk.length;
      const fresh = chunk.subarray(Math.max(0, told[stream] - start));
      const room = Math.max(0, MAX_BYTES - told.stdout - told.stderr);
      if (fresh.length === 0 || room === 0) return;
      const taken = fresh.subarray(0, room);
      const offset = start + chunk.length - fresh.length - rests[stream].length;
      const [text, rest] = splitCharacters(Buffer.concat([rests[stream], taken]));
      told[stream] = offset + text.length + rest.length;
      rests[stream] = rest;
      batches.add({ stream, offset, bytes: text.length, text: text.toString() });
    },
    skip(stdoutBytes, stderrBytes) {
      told.stdout = stdoutBytes;
      told.stderr = stderrBytes;
    },
    seen: () => ({ stdout: Math.max(seen.stdout, told.stdout), stderr: Math.max(seen.stderr, told.stderr) }),
    async drain(more) {
      for (const stream of ['stdout', 'stderr'] as const) {
        const rest = rests[stream];
        if (!more) batches.add({ stream, offset: told[stream] - rest.length, bytes: rest.length, text: rest.toString() });
      }
      return batches.drain();
    },
  };
}

function createBatches({ append, onProblem, ...call }: Call) {
  let pending: Piece[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let closed = false;
  return {
    add(piece: Piece): void {
      const last = pending.at(-1);
      if (piece.text === '') return;
      if (last?.stream === piece.stream) {
        last.text += piece.text;
        last.bytes += piece.bytes;
      } else pending.push(piece);
      schedule();
    },
    async drain(): Promise<NewEvent[]> {
      closed = true;
      clearTimeout(timer);
      await running;
      return take();
    },
  };

  function schedule(): void {
    if (closed || timer !== undefined || running !== undefined || pending.length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      running = flush();
    }, INTERVAL_MS);
  }

  async function flush(): Promise<void> {
    try {
      await append(take());
    } catch (error) {
      onProblem(error);
    } finally {
      running = undefined;
      schedule();
    }
  }

  function take(): NewEvent[] {
    const events = pending.map((piece): NewEvent => ({
      type: 'tool.output',
      turnId: call.turnId,
      stepId: call.stepId,
      data: { callId: call.callId, ...piece },
    }));
    pending = [];
    return events;
  }
}
