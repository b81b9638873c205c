import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDockerSandboxes } from '../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { WorkerHandle } from '../../src/sandbox/api/sandbox.ts';
import { compare, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const ROUNDS = 5;
const FILL_MS = 600_000;
const CHANGED_BYTES = 20_000;
const SIZES = [
  { name: '20 MB', directories: 10 },
  { name: '1 GB', directories: 500 },
];
/** 100 files of 20 000 bytes in each directory. */
const fill = (directories: number) =>
  `for d in $(seq ${directories}); do mkdir -p d$d; head -c 2000000 /dev/urandom | split -b ${CHANGED_BYTES} -a 3 - d$d/f; done`;

type Parts = Pick<BenchParts, 'store' | 'sandboxes'>;

/** A backup after one changed file, and one after none, against an archive of everything: what they store in a directory, and how long they take. */
export async function measureBackups({ stack: { config }, log }: BenchParts): Promise<Measurement[]> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-bench-blobs-'));
  const blobs = { LONGSHORE_BLOBS: pathToFileURL(directory).href, LONGSHORE_INSTALLATION: config.LONGSHORE_INSTALLATION };
  const store = await openStore({ url: config.DATABASE_URL, log, blobs });
  const sandboxes = createDockerSandboxes({ config, store, log });
  try {
    const measured: Measurement[] = [];
    for (const size of SIZES) measured.push(...(await measureOne({ store, sandboxes }, size)));
    return measured;
  } finally {
    await sandboxes[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  }
}

async function measureOne(parts: Parts, { name, directories }: (typeof SIZES)[number]): Promise<Measurement[]> {
  const { archive, archived } = await archiveAll(parts, directories);
  const { sandboxes } = parts;
  const sandboxId = `sbx_bench_backup_${directories}`;
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  await handle.run(fill(directories), { timeoutMs: FILL_MS });
  const first = await timed(() => backUp(parts, sandboxId));
  const firstBytes = await newestBytes(parts, sandboxId);
  const rounds = await changeAndBackUp(parts, handle, sandboxId);
  await sandboxes.destroy(sandboxId);
  const times = { baselineIs: 'an archive of everything', unit: 'ms' as const };
  const bytes = { baselineIs: 'an archive of everything', unit: 'bytes' as const };
  return [
    compare({ ...times, name: `${name}: first backup` }, { subject: [first], baseline: [archived] }),
    compare({ ...bytes, name: `${name}: first backup, bytes` }, { subject: [firstBytes], baseline: [archive] }),
    compare({ ...times, name: `${name}: 1 file changed` }, { subject: rounds.changed, baseline: [archived] }),
    compare({ ...bytes, name: `${name}: 1 file changed, bytes` }, { subject: rounds.bytes, baseline: [archive] }),
    compare({ ...times, name: `${name}: unchanged` }, { subject: rounds.unchanged, baseline: [archived] }),
  ];
}

/** What an archive of the same files takes, and takes up. */
async function archiveAll({ sandboxes, store }: Parts, directories: number) {
  const sandboxId = `sbx_bench_archive_${directories}`;
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  await handle.run(fill(directories), { timeoutMs: FILL_MS });
  const archived = await timed(() => sandboxes.archive(sandboxId));
  const archive = (await store.sandboxes.get(sandboxId))?.archive?.files.bytes ?? 0;
  await sandboxes.destroy(sandboxId);
  return { archive, archived };
}

async function changeAndBackUp(parts: Parts, handle: WorkerHandle, sandboxId: string) {
  const rounds = { changed: [] as number[], bytes: [] as number[], unchanged: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    await handle.run(`head -c ${CHANGED_BYTES} /dev/urandom > d5/faaa`);
    rounds.changed.push(await timed(() => backUp(parts, sandboxId)));
    rounds.bytes.push(await newestBytes(parts, sandboxId));
    rounds.unchanged.push(await timed(() => backUp(parts, sandboxId)));
  }
  return rounds;
}

async function backUp({ sandboxes, store }: Parts, sandboxId: string): Promise<void> {
  const attempt = await store.backups.begin(sandboxId);
  if (attempt === undefined) throw new Error('another backup is at work');
  await sandboxes.backUp?.(attempt, { keep: 1, signal: new AbortController().signal });
  await store.backups.release(attempt, 0);
}

async function newestBytes({ store }: Parts, sandboxId: string): Promise<number> {
  return (await store.sandboxes.get(sandboxId))?.backup?.parts.at(-1)?.blob.bytes ?? 0;
}
