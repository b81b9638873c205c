import type { WorkerHandle } from '../src/sandbox/api/sandbox.ts';
import { compareWithLimit, timed, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const ROUNDS = 15;
const KEEP = 20;
const CREATE_LIMIT_MS = 200;
const RESTORE_LIMIT_MS = 1000;
const CHANGED_BYTES = 20_000;
/** 10 000 files in 100 directories, 200 MB in all. */
const FILL = `for d in $(seq 100); do mkdir -p d$d; head -c 2000000 /dev/urandom | split -b ${CHANGED_BYTES} -a 3 - d$d/f; done`;

/** A checkpoint after one changed file among 10 000, one after none, and going back to it. */
export async function measureCheckpoints({ sandboxes }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_checkpoints';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  await handle.run(FILL, { timeoutMs: 300_000 });
  const { checkpoint: first } = await handle.createCheckpoint({ key: 'first', keep: KEEP });
  const create: number[] = [];
  const unchanged: number[] = [];
  const restore: number[] = [];
  const added: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await handle.run(`head -c ${CHANGED_BYTES} /dev/urandom > d5/faaa`);
    create.push(await timed(async () => added.push(await makeOne(handle, `change-${round}`))));
    unchanged.push(await timed(() => makeOne(handle, `none-${round}`)));
    const before = (await handle.checkpoints()).at(-2) ?? first;
    restore.push(await timed(() => handle.restoreCheckpoint(before, { key: `back-${round}`, keep: KEEP })));
  }
  await handle.run('rm -rf d*');
  const newest = (await handle.checkpoints()).at(-1) ?? first;
  const whole = await timed(() => handle.restoreCheckpoint(newest, { key: 'whole', keep: KEEP }));
  await sandboxes.destroy(sandboxId);
  return [
    compareWithLimit({ name: 'checkpoint', unit: 'ms', limit: CREATE_LIMIT_MS }, create),
    compareWithLimit({ name: 'no change', unit: 'ms', limit: CREATE_LIMIT_MS }, unchanged),
    compareWithLimit({ name: 'checkpoint bytes', unit: 'bytes', limit: 2 * CHANGED_BYTES }, added),
    compareWithLimit({ name: 'restore one file', unit: 'ms', limit: RESTORE_LIMIT_MS }, restore),
    compareWithLimit({ name: 'restore all', unit: 'ms', limit: RESTORE_LIMIT_MS }, [whole]),
  ];
}

async function makeOne(handle: WorkerHandle, key: string): Promise<number> {
  const { made, checkpoint } = await handle.createCheckpoint({ key, keep: KEEP });
  return made ? checkpoint.addedBytes : 0;
}
