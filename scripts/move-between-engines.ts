/**
 * Moves a sandbox between two engines, to and fro: puts it to disk on one, archives it, brings it back on the other, and checks that its process goes on there
 * with its memory. The times of the steps are printed. Both engines need gVisor, checkpoints and the sandbox image. Ends with 1 when a move has lost a process.
 *   LONGSHORE_COPY_CHECKPOINTS=yes npx tsx scripts/move-between-engines.ts unix:///run/a.sock unix:///run/b.sock [--moves 50]
 */
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { Sandboxes } from '../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../src/store/open-store.ts';
import { startTemporaryStack } from './temporary-stack.ts';
import { parseArgs } from 'node:util';

const GVISOR = { runtime: 'runsc' } as const;
/** Writes what it is told, with its process id and a number that only its memory has. */
const PROCESS = 'mkfifo gate; x=$RANDOM$RANDOM; echo begun $$ $x > log; while read line < gate; do echo $line $$ $x >> log; done';
const BEGUN = 'until [ -s log ]; do sleep 0.05; done; cat log';
const STEPS = ['hibernate', 'archive', 'bring back'] as const;

const { values, positionals } = parseArgs({ options: { moves: { type: 'string', default: '1' } }, allowPositionals: true });
const [first, second] = positionals;
const moves = Number(values.moves);
if (first === undefined || second === undefined || !Number.isInteger(moves) || moves < 1)
  throw new RangeError('name two engines, as in DOCKER_HOST: npx tsx scripts/move-between-engines.ts unix:///run/a.sock unix:///run/b.sock [--moves 50]');

const times: Record<(typeof STEPS)[number], number[]> = { hibernate: [], archive: [], 'bring back': [] };

async function timed<T>(step: (typeof STEPS)[number], work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  times[step].push(performance.now() - started);
  return result;
}

interface Mover {
  /** Where the sandbox is. */
  at: Sandboxes;
  owner: { sandboxId: string; tenantId: string };
  /** Process id and number of its process. */
  mark: string;
}

async function begin(at: Sandboxes, count: number): Promise<Mover> {
  const owner = { sandboxId: `sbx_moves_${count}`, tenantId: 'moves' };
  const { handle } = await at.open(owner, GVISOR);
  handle.run(PROCESS, { execId: 'waits', timeoutMs: 0 }).catch(() => undefined);
  const [, mark] = /^begun (\d+ \d+)\n$/.exec((await handle.run(BEGUN)).stdout.text) ?? [];
  if (mark === undefined) throw new Error('the process did not begin');
  return { at, owner, mark };
}

async function move({ at, owner, mark }: Mover, to: Sandboxes, word: string): Promise<Mover> {
  const tier = await timed('hibernate', () => at.hibernate(owner.sandboxId));
  if (tier !== 'hibernated') throw new Error(`the engine cannot hibernate: the sandbox is ${tier}`);
  await timed('archive', () => at.archive(owner.sandboxId, { otherwise: 'stay' }));
  const opened = await timed('bring back', () => to.open(owner, GVISOR));
  if (opened.lost !== undefined) throw new Error(opened.lost);
  const { stdout } = await opened.handle.run(`echo ${word} > gate; until grep -q '^${word} ' log; do sleep 0.05; done; tail -n 1 log`, { timeoutMs: 30_000 });
  if (stdout.text !== `${word} ${mark}\n`) throw new Error(`the process did not go on: ${JSON.stringify(stdout.text)}`);
  return { at: to, owner, mark };
}

function medianOf(numbers: number[]): string {
  return `${Math.round(numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0)} ms`;
}

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'warn' });
await using stack = await startTemporaryStack('moves', { DOCKER_HOST: first }, console.log);
await using store = await openStore({ url: stack.config.DATABASE_URL, log, blobs: stack.config });
const on = (host: string, hostId: string) =>
  createDockerSandboxes({ config: { ...stack.config, DOCKER_HOST: host, LONGSHORE_HOST_ID: hostId }, store, log, reapGraceMs: -60_000 });
await using one = on(first, 'first');
await using other = on(second, 'second');
const sandboxesOf = async (sandboxId: string) => ((await store.sandboxes.get(sandboxId))?.hostId === 'second' ? other : one);
let mover: Mover | undefined;
let lost = 0;
try {
  for (let count = 1; count <= moves; count += 1) {
    mover ??= await begin(one, count);
    const { owner } = mover;
    try {
      mover = await move(mover, mover.at === one ? other : one, `move-${count}`);
    } catch (error) {
      lost += 1;
      console.log(`move ${count} lost the process:`, error);
      await (await sandboxesOf(owner.sandboxId)).destroy(owner.sandboxId);
      mover = undefined;
    }
    if (count % 10 === 0) console.log(`${count} of ${moves} moves, ${lost} lost`);
  }
} finally {
  if (mover) await mover.at.destroy(mover.owner.sandboxId);
  for (const host of [one, other]) await host.reap();
}
console.log(`${moves} moves, ${lost} lost. Medians: ${STEPS.map((step) => `${step} ${medianOf(times[step])}`).join(', ')}`);
process.exitCode = lost === 0 ? 0 : 1;
