import { type Duplex, duplexPair } from 'node:stream';
import { pino } from 'pino';
import { connectSupervisor } from '../../../src/sandbox/protocol/connect-supervisor.ts';
import { encodeFrame, FRAMES, FrameReader, PROTOCOL_VERSION } from '../../../src/sandbox/protocol/frames.ts';
import type { SupervisorConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';

/** A request as it came, and the frames that answer it. */
export interface Asked {
  operation: string;
  fields: Record<string, unknown>;
  send: (type: keyof typeof FRAMES, payload: object | string | Uint8Array) => void;
  /** Breaks the stream. */
  cut: () => void;
}

export const EXIT = { status: 'exited', exitCode: 0, durationMs: 1, stdoutBytes: 0, stderrBytes: 0, stdoutKept: 0, stderrKept: 0 };
const PREVIEW = { head: '', tail: '', leftOut: 0, path: '/x' };
export const ENDED = { exit: EXIT, stdout: PREVIEW, stderr: PREVIEW };

/** A connection to a supervisor in this process that greets, answers pings, and leaves all else to the test. */
export class ScriptedSupervisor implements Disposable {
  readonly connection: SupervisorConnection;
  /** Of channels whose calls were given up. */
  readonly cancelled: number[] = [];
  streams = 0;
  readonly #answer: (asked: Asked) => void;
  readonly #onPing: (stream: number, cut: () => void) => void;

  /** `onPing` is called before a ping is answered, with the number of the stream. */
  constructor(answer: (asked: Asked) => void, onPing: (stream: number, cut: () => void) => void = () => undefined) {
    this.#answer = answer;
    this.#onPing = onPing;
    const openStream = () => Promise.resolve(this.#open());
    this.connection = connectSupervisor({ openStream, sandboxId: 'sbx_scripted', log: pino({ level: 'silent' }) });
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }

  #open(): Duplex {
    const stream = (this.streams += 1);
    const [ours, theirs] = duplexPair();
    const cut = () => void theirs.destroy();
    const reader = new FrameReader(({ type, channel, payload }) => {
      if (type === FRAMES.cancel) this.cancelled.push(channel);
      if (type !== FRAMES.request) return;
      const { operation, ...fields } = JSON.parse(payload.toString()) as { operation: string };
      const send: Asked['send'] = (kind, value) => {
        const bytes = typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value);
        if (!ours.destroyed) ours.write(encodeFrame(FRAMES[kind], channel, bytes));
      };
      if (operation === 'hello') send('end', { version: PROTOCOL_VERSION, supervisorId: 'scripted', bootedAt: 'now' });
      else if (operation === 'ping') {
        this.#onPing(stream, cut);
        send('end', {});
      } else this.#answer({ operation, fields, send, cut });
    });
    ours.on('data', (chunk: Buffer) => reader.push(chunk));
    ours.on('error', () => undefined);
    return theirs;
  }
}
