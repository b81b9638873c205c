import { execFile, type ExecFileException } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FencedProcess } from './fenced-process.ts';

/** What was tried inside a fence. `open` has for each property what was possible and must not be; empty where the property holds. */
export interface Measured {
  open: Map<string, string>;
  user: number;
}

/** Why a fence could not be measured: this way of making it does not work on this machine. */
export interface Obstacle {
  obstacle: string;
}

const TIMEOUT_MS = 10_000;
/** The engine may first have to receive an image. */
const START_TIMEOUT_MS = 60_000;
const MAX_SAID = 100_000;
const MAX_LINE = 300;
export const PROBE = fileURLToPath(new URL('./probe.pl', import.meta.url));
/** A file that every worker can read. */
const SECRET = fileURLToPath(import.meta.url);

/**
 * Options that make the launcher try the fence from inside.
 * @param engine the socket of a Docker engine, where it is not at the usual path.
 */
export function probeWords(engine: string | undefined): string[] {
  return [`--probe=${PROBE}`, `--worker=${process.pid}`, `--secrets=${SECRET}`, ...(engine === undefined ? [] : [`--sockets=${engine}`])];
}

/** Runs a launcher with these words. Calls `clean` with its process id after it has ended. */
export async function measureFence([program = '', ...args]: string[], clean: (pid: number) => Promise<void>): Promise<Measured | Obstacle> {
  let pid: number | undefined;
  const found = await new Promise<Measured | Obstacle>((resolve) => {
    const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', env: {}, cwd: '/' } as const;
    const end = (error: ExecFileException | null, stdout: string, stderr: string) => {
      if (error?.killed === true) resolve({ obstacle: `it did not start within ${TIMEOUT_MS} ms` });
      else resolve(error === null ? readMeasured(stdout, stderr) : { obstacle: lastLineOf(stderr) ?? error.message });
    };
    ({ pid } = execFile(program, args, options, end));
  });
  if (pid !== undefined) await clean(pid);
  return found;
}

/** The same for a process that runs already. */
export async function measureStarted(child: FencedProcess): Promise<Measured | Obstacle> {
  const [said, complained] = [collect(child.stdout), collect(child.stderr)];
  return new Promise((resolve) => {
    const end = (found: Measured | Obstacle) => {
      clearTimeout(timer);
      resolve(found);
    };
    const timer = setTimeout(() => {
      child.kill();
      end({ obstacle: `it did not start within ${START_TIMEOUT_MS} ms` });
    }, START_TIMEOUT_MS);
    child.once('error', ({ message }: Error) => end({ obstacle: message }));
    child.once('close', () => end(readMeasured(said(), complained())));
  });
}

/** The text of a stream until now; of a long text only the beginning. */
function collect(stream: Readable): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (text.length < MAX_SAID) text += chunk.toString();
  });
  return () => text;
}

function readMeasured(said: string, complained: string): Measured | Obstacle {
  const lines = said.split('\n').flatMap((line): [string, string][] => {
    const [name, ...rest] = line.split('=');
    return name === undefined || rest.length === 0 ? [] : [[name, rest.join('=')]];
  });
  const { user, ...found } = Object.fromEntries(lines);
  if (user === undefined) return { obstacle: lastLineOf(complained) ?? 'it ended without having measured anything' };
  return { user: Number(user), open: new Map(Object.entries(found).map(([name, value]) => [name, value === 'held' ? '' : value.replace(/^open /, '')])) };
}

function lastLineOf(text: string): string | undefined {
  const line = text.trim().split('\n').at(-1)?.slice(0, MAX_LINE);
  return line === '' ? undefined : line;
}
