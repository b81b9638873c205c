import { StringDecoder } from 'node:string_decoder';
import type { NewEvent } from '../store/store.ts';

type Stream = 'stdout' | 'stderr';

/** The `tool.output` events of one call. */
export interface OutputEvents {
  /** Takes what a command wrote; bytes that an earlier attempt had taken are counted and left out. */
  push(stream: Stream, chunk: Buffer): void;
  /** Sets how many bytes of each stream were told before; for calls that are attached to again. */
  skip(stdoutBytes: number, stderrBytes: number): void;
  /** Bytes seen of each stream, over all attempts. */
  seen(): { stdout: number; stderr: number };
  /** Ends the batching and gives what was not appended yet, to go with the result. */
  drain(): Promise<NewEvent[]>;
}

const INTERVAL_MS = 100;
/** Bytes of output told per call; the whole is in the sandbox. */
const MAX_BYTES = 65_536;

/** Batches a call's output into events: at most ten appends a second, and none at all for a call that ends sooner. */
export function createOutputEvents(call: {
  callId: string;
  turnId: string;
  stepId: string;
  append: (events: NewEvent[]) => Promise<void>;
  onProblem: (error: unknown) => void;
}): OutputEvents {
  const seen = { stdout: 0, stderr: 0 };
  const told = { stdout: 0, stderr: 0 };
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let pending: { stream: Stream; offset: number; text: string }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  return {
    push(stream, chunk) {
      const start = seen[stream];
      seen[stream] += chunk.length;
      const fresh = chunk.subarray(Math.max(0, told[stream] - start));
      const room = Math.max(0, MAX_BYTES - told.stdout - told.stderr);
      if (fresh.length === 0 || room === 0) return;
      told[stream] = start + chunk.length;
      add(stream, decoders[stream].write(fresh.subarray(0, room)), told[stream] - fresh.length);
      schedule();
    },
    skip(stdoutBytes, stderrBytes) {
      told.stdout = stdoutBytes;
      told.stderr = stderrBytes;
    },
    seen: () => ({ stdout: Math.max(seen.stdout, told.stdout), stderr: Math.max(seen.stderr, told.stderr) }),
    async drain() {
      clearTimeout(timer);
      await running;
      for (const stream of ['stdout', 'stderr'] as const) add(stream, decoders[stream].end(), told[stream]);
      clearTimeout(timer);
      return take();
    },
  };

  /** `offset`: where the text starts in the stream, give or take a character that came in two pieces. */
  function add(stream: Stream, text: string, offset: number): void {
    const last = pending.at(-1);
    if (text === '') return;
    if (last?.stream === stream) last.text += text;
    else pending.push({ stream, offset, text });
  }

  function schedule(): void {
    if (timer !== undefined || running !== undefined || pending.length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      running = flush();
    }, INTERVAL_MS);
  }

  async function flush(): Promise<void> {
    const events = take();
    try {
      await call.append(events);
    } catch (error) {
      call.onProblem(error);
    } finally {
      running = undefined;
      schedule();
    }
  }

  function take(): NewEvent[] {
    const events = pending.map((output) => ({
      type: 'tool.output' as const,
      turnId: call.turnId,
      stepId: call.stepId,
      data: { callId: call.callId, ...output },
    }));
    pending = [];
    return events;
  }
}
