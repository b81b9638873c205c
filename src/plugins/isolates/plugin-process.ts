import { spawn } from 'node:child_process';
import { deferred } from '../../common/deferred.ts';
import { createAllowance } from './allowance.ts';
import { createLineReader } from '../../common/lines/line-reader.ts';
import type { Fence } from './fence/fence.ts';
import type { FencedProcess } from './fence/fenced-process.ts';
import type { GuestScript } from './guest-script.ts';
import { MAX_LINE_BYTES, readFromGuest, type FromGuest, type ToGuest } from './guest-protocol.ts';
import { readSteadily } from './read-steadily.ts';

export interface PluginProcess {
  /** Process id of the script, or of the launcher that is its parent. */
  pid: number | undefined;
  /** Resolves when the process can load a plugin; rejects when it ends before. */
  ready: Promise<void>;
  /** Why it ended, in words. Resolves as soon as the end is decided: its messages are ignored from then on, and its successor does not wait for its end. */
  ended: Promise<string>;
  /** Resolves when nothing of it is left on the machine. */
  gone: Promise<void>;
  alive(): boolean;
  /** Milliseconds for which its output was not read because it had sent too much. */
  heldMs(): number;
  /** Sets the listener of the process's messages. `length` is the number of characters of the message. */
  listen(onMessage: (message: FromGuest, length: number) => void): void;
  send(message: ToGuest): void;
  /** Ends it at once; `ended` resolves with `why`. */
  kill(why: string): void;
}

/** Limit on messages that do not answer the worker. */
const MESSAGES = { burst: 2_000, perSecond: 1_000 };
const MEGABYTE = 1024 * 1024;
/** To read this much text takes about a tenth of the worker's time. */
const BYTES = { burst: 64 * MEGABYTE, perSecond: 64 * MEGABYTE };
/** Limit on the worker's time to read and parse everything that a process sends. */
const MILLISECONDS = { burst: 250, perSecond: 200 };
const MAX_UNREAD_BYTES = 64 * MEGABYTE;
/** What Node.js writes when memory runs out: the reason, then a trace of up to 40 lines, some of which have hundreds of characters. */
const MAX_STDERR = 32_000;

/** Starts a process behind the fence. It shares nothing with this one: it has a fixed environment, its pipes and an empty directory. */
export function startPluginProcess(fence: Fence, script: Pick<GuestScript, 'path' | 'directory'>): PluginProcess {
  const child = fence.start?.(script.path) ?? spawnCommand(fence, script);
  const { ready, setReady, notReady } = promiseOfReady();
  let listener: ((message: FromGuest, length: number) => void) | undefined;
  let cause: string | undefined;
  let complaints = '';
  const ended = deferred<string>();
  const end = (why: string): void => {
    cause ??= why;
    notReady(new Error(cause));
    ended.resolve(cause);
  };
  const kill = (why: string): void => {
    end(why);
    child.kill('SIGKILL');
  };
  const allow = createAllowance(MESSAGES);
  const onLine = (line: string): void => {
    if (cause !== undefined) return;
    const message = readFromGuest(line);
    if (!message) return kill('it sent something that is no message');
    if (message.type === 'ready') return setReady();
    if ((message.type === 'ask' || message.type === 'tell') && allow(1) < 0) return kill(`it sent more than ${MESSAGES.perSecond} messages a second`);
    listener?.(message, line.length);
  };
  const toLines = createLineReader({ maxBytes: MAX_LINE_BYTES, onLine, onTooLong: () => kill(`it sent a message of more than ${MAX_LINE_BYTES} bytes`) });
  const reading = readSteadily(child.stdout, { bytes: BYTES, milliseconds: MILLISECONDS }, toLines);
  child.stderr.on('data', (chunk: Buffer) => (complaints = (complaints + chunk.toString()).slice(-MAX_STDERR)));
  // A write to a process that has ended fails. `ended` reports the end.
  child.stdin.on('error', () => undefined);
  const gone = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      end(`it could not be started (${error.message})`);
      resolve();
    });
    // The rest may be of no use, but `close` follows only after it has been read.
    child.once('exit', reading.hurry);
    child.once('close', (code, signal) => {
      end(whyOf(code, signal, complaints));
      resolve(child.pid === undefined ? undefined : fence.clean(child.pid));
    });
  });
  return {
    pid: child.pid,
    ready,
    ended: ended.promise,
    gone,
    alive: () => cause === undefined,
    heldMs: reading.heldMs,
    listen: (onMessage) => (listener = onMessage),
    send(message) {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      if (child.stdin.writableLength > MAX_UNREAD_BYTES) kill('it does not read what it is sent');
    },
    kill,
  };
}

function spawnCommand(fence: Fence, script: Pick<GuestScript, 'path' | 'directory'>): FencedProcess {
  const [program, ...args] = fence.command(script.path);
  return spawn(program, args, { cwd: script.directory, env: { TZ: 'UTC', LANG: 'C' }, stdio: ['pipe', 'pipe', 'pipe'] });
}

function promiseOfReady() {
  let setReady: () => void = () => undefined;
  let notReady: (error: Error) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    setReady = resolve;
    notReady = reject;
  });
  // A caller that waits for it receives the error; all others learn it from `ended`.
  ready.catch(() => undefined);
  return { ready, setReady, notReady };
}

function whyOf(code: number | null, signal: NodeJS.Signals | null, complaints: string): string {
  if (/out of memory|allocation failed|bad_alloc/i.test(complaints)) return 'it ran out of memory';
  const last = complaints.trim().split('\n').at(-1) ?? '';
  return `it ended by itself with ${signal ?? `code ${code}`}${last ? ` (${last.slice(0, 200)})` : ''}`;
}
