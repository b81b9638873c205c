import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What was tried inside of a fence: for each property what was possible that should not be, empty where it holds. */
export interface Measured {
  open: Map<string, string>;
  user: number;
}

const TIMEOUT_MS = 10_000;
const PROBE = fileURLToPath(new URL('./probe.pl', import.meta.url));
/** One that every worker can read. */
const SECRET = fileURLToPath(import.meta.url);

/**
 * Options that make the launcher try the fence from inside.
 * @param engine the socket of a Docker engine that is not at the usual place.
 */
export function probeWords(engine: string | undefined): string[] {
  return [`--probe=${PROBE}`, `--worker=${process.pid}`, `--secrets=${SECRET}`, ...(engine === undefined ? [] : [`--sockets=${engine}`])];
}

/** Runs a launcher with these words. Undefined when it does not work on this machine. */
export async function measure([program = '', ...args]: string[]): Promise<Measured | undefined> {
  const said = await new Promise<string | undefined>((resolve) => {
    execFile(program, args, { timeout: TIMEOUT_MS, env: {}, cwd: '/' }, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
  return said === undefined ? undefined : readMeasured(said);
}

export function readMeasured(said: string): Measured | undefined {
  const lines = said.split('\n').flatMap((line): [string, string][] => {
    const [name, ...rest] = line.split('=');
    return name === undefined || rest.length === 0 ? [] : [[name, rest.join('=')]];
  });
  const { user, ...found } = Object.fromEntries(lines);
  if (user === undefined) return undefined;
  return { user: Number(user), open: new Map(Object.entries(found).map(([name, value]) => [name, value === 'held' ? '' : value.replace(/^open /, '')])) };
}
