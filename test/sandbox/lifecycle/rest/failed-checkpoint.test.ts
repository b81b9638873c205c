import { FakeTime, runIn, until } from '../fakes/fake-time.ts';
import { FakeWorld } from '../fakes/fake-world.ts';

const ID = 'sbx_1';
/** Virtual. Work in progress looks at its sandbox several times. */
const LONG_MS = 30_000;

test.each([
  ['pause', true],
  ['idle', undefined],
] as const)('a sandbox that is frozen (%s) and cannot be put to disk is frozen again, as it was', async (mode, paused) => {
  using time = new FakeTime();
  const world = new FakeWorld(() => 1);
  const run = runIn(time);
  const [own, other] = [world.worker().sandboxes, world.worker().sandboxes];
  const { handle } = await run(own.open({ sandboxId: ID, tenantId: 'tenant' }, { runtime: 'runsc' }));
  const begun = handle.start('work 100000', { execId: 'command' });
  await run(begun);
  const following = mode === 'pause' ? handle.attach('command').catch(() => undefined) : undefined;
  expect(await run(other.freeze(ID, { mode }))).toBe('frozen');
  // The first one tells the process that the engine can make them.
  let made = 0;
  world.refuses = (call) => call === 'make' && (made += 1) > 1;
  expect(await run(other.hibernate(ID, { otherwise: 'stay' }))).toBe('frozen');
  const calmMs = time.nowMs + LONG_MS;
  setTimeout(() => undefined, LONG_MS + 1);
  await until(time, () => time.nowMs > calmMs);
  const row = world.rows.get(ID)!;
  expect([row.state, row.paused ?? false, world.container(row.containerName)?.status]).toEqual(['frozen', paused ?? false, 'paused']);
  await run(own.destroy(ID));
  if (following) await run(following);
});
