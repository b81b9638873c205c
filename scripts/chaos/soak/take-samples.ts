import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { listLeftovers } from '../../temporary-stack.ts';
import { namesBelow, type OwnProcess } from '../processes.ts';
import type { World } from '../world.ts';
import type { Sample } from './growth.ts';

const TABLES = `select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`;

/** Takes samples until `over` aborts. */
export async function sampleEvery(world: World, pauseMs: number, over: AbortSignal): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (;;) {
    await sleep(pauseMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return samples;
    samples.push(await sample(world));
  }
}

async function sample({ crew, records, installation }: World): Promise<Sample> {
  const members = crew.members();
  const memoryOf = async (kind: OwnProcess['kind']) => Math.max(...(await Promise.all(members.filter((member) => member.kind === kind).map(memoryMb))));
  const handles = await Promise.all(members.map(async ({ pid }) => (await readdir(`/proc/${pid}/fd`).catch(() => [])).length));
  const children = await Promise.all(members.map(async ({ pid }) => (await namesBelow(pid)).length));
  const tables = await records.query<{ name: string }>(TABLES);
  const rows = await records.query<{ count: number }>(`select (${tables.map(({ name }) => `(select count(*) from "${name}")`).join(' + ')})::int as count`);
  const [conversations] = await records.query<{ count: number }>('select count(*)::int as count from conversations');
  return {
    workerMb: await memoryOf('worker'),
    serviceMb: await memoryOf('service'),
    handles: sum(handles),
    children: sum(children),
    containers: (await listLeftovers(installation)).filter((line) => line.startsWith('container ')).length,
    rowsEach: (rows[0]?.count ?? 0) / Math.max(1, conversations?.count ?? 0),
  };
}

async function memoryMb({ pid }: OwnProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
