import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { factsOf, isGone } from '../../../src/platform/process-identity.ts';
import { namesBelow } from '../processes.ts';
import type { World } from '../world.ts';

const run = promisify(execFile);
const LOOK_MS = 100;
const SPARE_BYTES = 64 * 2 ** 10;

/** Those that have all that they need so far would need no more for long. */
const END_SESSIONS = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

/** Lets no process of Postgres take more memory than it has, nor new ones for new sessions, while something is done. */
export async function limitPostgres(world: World, work: () => Promise<void>): Promise<void> {
  const server = await serverOf(world);
  const over = new AbortController();
  const limited = new Set([server]);
  await limit(server, await sizeOf(server));
  try {
    await world.records.query(END_SESSIONS);
    const limiting = (async () => {
      for (; !over.signal.aborted; await sleep(LOOK_MS, undefined, { signal: over.signal }).catch(() => undefined)) {
        for (const pid of await processesOf(server)) if (!limited.has(pid)) await limit(pid, await sizeOf(pid)).then(() => limited.add(pid));
      }
    })();
    await Promise.all([limiting, work().finally(() => over.abort())]);
  } finally {
    for (const pid of await processesOf(server)) await limit(pid, undefined);
  }
}

/** The first process of Postgres, which begins all others. */
async function serverOf({ records }: World): Promise<number> {
  const [{ pid } = { pid: 0 }] = await records.query<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = (await factsOf(String(pid)))?.parent;
  if (parent === undefined) throw new Error(`there is no process ${pid}`);
  return parent;
}

async function processesOf(server: number): Promise<number[]> {
  return [server, ...(await namesBelow(server)).map((name) => Number.parseInt(name, 10))];
}

/** In bytes, with what it may need to go on as it is. */
async function sizeOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmSize:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024 + SPARE_BYTES;
}

/** As the user of that process, whom it needs no privilege. @throws when it cannot be limited; a process that has ended needs no limit */
async function limit(pid: number, bytes: number | undefined): Promise<void> {
  const user = await stat(`/proc/${pid}`).catch(() => undefined);
  if (!user) return;
  try {
    await run('prlimit', ['--pid', String(pid), `--as=${bytes ?? 'unlimited'}:unlimited`], { uid: user.uid, gid: user.gid });
  } catch (error) {
    if (!(await isGone(String(pid)))) throw error;
  }
}
