import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FencedProcess } from '../fence.ts';

/** What was tried inside of a fence: for each property what was possible that should not be, empty where it holds. */
export interface Measured {
  open: Map<string, string>;
  user: number;
}

const TIMEOUT_MS = 10_000;
/** The engine may have to be given an image first. */
const START_TIMEOUT_MS = 60_000;
export const PROBE = fileURLToPath(new URL('./probe.pl', import.meta.url));
/** One that every worker can read. */
const SECRET = fileURLToPath(import.meta.url);

/**
 * Options that make the launcher try the fence from inside.
 * @param engine the socket of a Docker engine that is not at the usual place.
 */
export function probeWords(engine: string | undefined): string[] {
  return [`--probe=${PROBE}`, `--worker=${process.pid}`, `--secrets=${SECRET}`, ...(engine === undefined ? [] : [`--sockets=${engine}`])];
}

/** Runs a launcher with these words. Undefined when it does not work on this machine. `clean` is told its process id when it has ended. */
export async function measure([program = '', ...args]: string[], clean: (pid: number) => Promise<void>): Promise<Measured | undefined> {
  let pid: number | undefined;
  const said = await new Promise<string | undefined>((resolve) => {
    const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', env: {}, cwd: '/' } as const;
    ({ pid } = execFile(program, args, options, (error, stdout) => resolve(error === null ? stdout : undefined)));
  });
  if (pid !== undefined) await clean(pid);
  return said === undefined ? undefined : readMeasured(said);
}

/** The same for a process that has been started so. */
export async function measureStarted(child: FencedProcess): Promise<Measured | undefined> {
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.resume();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill(), START_TIMEOUT_MS);
    const end = () => {
      clearTimeout(timer);
      resolve(readMeasured(said));
    };
    child.once('error', end);
    child.once('close', end);
  });
}

function readMeasured(said: string): Measured | undefined {
  const lines = said.split('\n').flatMap((line): [string, string][] => {
    const [name, ...rest] = line.split('=');
    return name === undefined || rest.length === 0 ? [] : [[name, rest.join('=')]];
  });
  const { user, ...found } = Object.fromEntries(lines);
  if (user === undefined) return undefined;
  return { user: Number(user), open: new Map(Object.entries(found).map(([name, value]) => [name, value === 'held' ? '' : value.replace(/^open /, '')])) };
}
