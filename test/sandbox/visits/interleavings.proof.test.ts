import * as fc from 'fast-check';
import type { ConversationState } from '../../../src/contracts/conversation.ts';
import { isFailure } from '../../../src/contracts/errors.ts';
import { checkVisit } from '../../../src/sandbox/visits/held.ts';
import { openVisited } from '../../../src/sandbox/visits/open-visited.ts';
import type { ConversationRow, Store } from '../../../src/store/store.ts';
import { FakeTime, runIn, until } from '../lifecycle/fakes/fake-time.ts';
import { FakeWorld } from '../lifecycle/fakes/fake-world.ts';

const ID = 'sbx_1';
const OWNER = { sandboxId: ID, tenantId: 'tenant', conversationId: 'conversation' };
/** Virtual. What was asked for has come to its end by then, or waits for the end of the pause. */
const CALM_MS = 30_000;

interface Scene {
  /** When visits from another process begin. */
  visitsMs: number[];
  /** When operations of the conversation begin, all of them before its pause. */
  operationsMs: number[];
  /** When copies of its files are begun. */
  copiesMs: number[];
  /** When it is frozen for want of work, before its pause. */
  freezesMs: number[];
  pauseMs: number;
  latencies: number[];
}

/** A conversation is paused for good while others use its sandbox. */
async function play({ visitsMs, operationsMs, copiesMs, freezesMs, pauseMs, latencies }: Scene): Promise<void> {
  using time = new FakeTime();
  let drawn = 0;
  const latency = () => latencies[(drawn += 1) % latencies.length] ?? 1;
  const pass = () => new Promise((resolve) => setTimeout(resolve, latency()));
  const world = new FakeWorld(latency);
  const run = runIn(time);
  const [own, others, visited] = [world.worker().sandboxes, world.worker().sandboxes, world.worker().sandboxes];
  const { handle } = await run(own.open(OWNER, {}));
  let state: ConversationState = 'running';
  const conversations = {
    async get(conversationId: string) {
      await pass();
      return { conversationId, state } as ConversationRow;
    },
  };
  const desk = { store: { conversations: conversations as unknown as Store['conversations'] } };
  const find = async () => {
    await pass();
    const row = world.rows.get(ID)!;
    await checkVisit(desk, row, { force: false });
    return row;
  };
  const failures: unknown[] = [];
  const begin = (atMs: number, act: () => Promise<unknown>) => setTimeout(() => void act().catch((error: unknown) => failures.push(error)), atMs);
  for (const [number, atMs] of visitsMs.entries())
    begin(atMs, async () => {
      const visit = await openVisited(visited, await find(), { mayWake: find });
      await visit.handle.run('work 10', { execId: `visit${number}` });
    });
  for (const [number, atMs] of operationsMs.entries()) begin(Math.min(atMs, pauseMs - 1), () => handle.run('work 10', { execId: `operation${number}` }));
  for (const atMs of copiesMs) begin(atMs, () => others.snapshot(ID, {}));
  for (const atMs of freezesMs) begin(Math.min(atMs, pauseMs - 1), () => others.freeze(ID));
  begin(pauseMs, async () => {
    expect(await own.freeze(ID, { mode: 'pause' })).toBe('frozen');
    await pass();
    state = 'paused';
  });
  setTimeout(() => undefined, CALM_MS + 1);
  await until(time, () => time.nowMs > CALM_MS);
  for (const error of failures) if (!isFailure(error, 'SANDBOX_HELD') && !isFailure(error, 'SANDBOX_CONFLICT')) throw error;
  const { containerName, state: held, paused } = world.rows.get(ID)!;
  expect({ held, paused, container: world.container(containerName)?.status }).toEqual({ held: 'frozen', paused: true, container: 'paused' });
}

const moment = fc.integer({ min: 1, max: 120 });
const latencies = fc.array(fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 3, arbitrary: fc.integer({ min: 20, max: 200 }) }), {
  minLength: 20,
  maxLength: 60,
});
const scene = fc.record({
  visitsMs: fc.array(moment, { maxLength: 4 }),
  operationsMs: fc.array(moment, { maxLength: 3 }),
  copiesMs: fc.array(moment, { maxLength: 2 }),
  freezesMs: fc.array(moment, { maxLength: 3 }),
  pauseMs: fc.integer({ min: 2, max: 120 }),
  latencies,
});

/** More of them, and others, are a matter of the environment. */
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 100);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);

test('a pause holds, whatever visits, copies, and operations that began before it, do at the same time', async () => {
  await fc.assert(fc.asyncProperty(scene, play), { numRuns: RUNS, seed: SEED });
});
