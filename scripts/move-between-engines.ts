/**
 * Puts a sandbox to disk on one engine, archives it, brings it back on another, and checks that its process goes on there with its memory. The time
 * of each step is printed. Both engines need gVisor, checkpoints and the sandbox image.
 *   LONGSHORE_COPY_CHECKPOINTS=yes npx tsx scripts/move-between-engines.ts unix:///run/a.sock unix:///run/b.sock
 */
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { Sandboxes } from '../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../src/store/open-store.ts';
import { startTemporaryStack } from './temporary-stack.ts';

const OWNER = { sandboxId: 'sbx_moves', tenantId: 'moves' };
const GVISOR = { runtime: 'runsc' } as const;
const COMMAND = 'mkfifo gate; x=$RANDOM; echo begun $$ $x; read line < gate; echo $line $$ $x';

const [first, second] = process.argv.slice(2);
if (first === undefined || second === undefined)
  throw new RangeError('name two engines, as in DOCKER_HOST: npx tsx scripts/move-between-engines.ts unix:///run/a.sock unix:///run/b.sock');

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  console.log(`${what}: ${Math.round(performance.now() - started)} ms`);
  return result;
}

async function move(from: Sandboxes, to: Sandboxes): Promise<void> {
  const { handle } = await from.open(OWNER, GVISOR);
  const begun = new Promise<void>((resolve) => {
    handle.run(COMMAND, { execId: 'waits', timeoutMs: 0, onStdout: () => resolve() }).catch(() => undefined);
  });
  await begun;
  const tier = await timed('hibernate', () => from.hibernate(OWNER.sandboxId));
  if (tier !== 'hibernated') throw new Error(`the first engine cannot hibernate: the sandbox is ${tier}`);
  await timed('archive', () => from.archive(OWNER.sandboxId, { otherwise: 'stay' }));
  const opened = await timed('bring back on the other engine', () => to.open(OWNER, GVISOR));
  if (opened.lost !== undefined) throw new Error(opened.lost);
  await opened.handle.run('echo ended > gate');
  const { stdout } = await opened.handle.attach('waits');
  if (!/^begun (\d+ \d+)\nended \1\n$/.test(stdout.text)) throw new Error(`the process did not go on: ${JSON.stringify(stdout.text)}`);
  console.log('the same process went on on the other engine');
}

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'warn' });
await using stack = await startTemporaryStack('moves', { DOCKER_HOST: first }, console.log);
await using store = await openStore({ url: stack.config.DATABASE_URL, log, blobs: stack.config });
const on = (host: string, hostId: string) =>
  createDockerSandboxes({ config: { ...stack.config, DOCKER_HOST: host, LONGSHORE_HOST_ID: hostId }, store, log, reapGraceMs: -60_000 });
await using from = on(first, 'first');
await using to = on(second, 'second');
try {
  await move(from, to);
} finally {
  const owner = (await store.sandboxes.get(OWNER.sandboxId))?.hostId === 'second' ? to : from;
  await owner.destroy(OWNER.sandboxId);
  for (const host of [from, to]) await host.reap();
}
