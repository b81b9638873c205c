import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { factsOf } from '../../../src/platform/process-identity.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { namesBelow } from '../processes.ts';
import type { World } from '../world.ts';

const LOOK_MS = 200;
const SPARE_BYTES = 64 * 2 ** 10;

/** Those that have all that they need so far would need no more for long. */
const END_SESSIONS = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

/** Lets no process of Postgres take more memory than it has, nor new ones for new sessions, while something is done. */
export async function limitPostgres(world: World, work: () => Promise<void>): Promise<void> {
  const server = await serverOf(world);
  const over = new AbortController();
  const limited = new Set<number>();
  const limiting = (async () => {
    while (!over.signal.aborted) {
      for (const pid of await processesOf(server)) if (!limited.has(pid) && (await limit(pid, await sizeOf(pid)))) limited.add(pid);
      await sleep(LOOK_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  try {
    while (limited.size === 0) await sleep(LOOK_MS / 10);
    await world.records.query(END_SESSIONS);
    await work();
  } finally {
    over.abort();
    await limiting;
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

/** False for a process that has ended. */
async function limit(pid: number, bytes: number | undefined): Promise<boolean> {
  return (await runCommand('prlimit', ['--pid', String(pid), `--as=${bytes ?? 'unlimited'}:unlimited`])).code === 0;
}
