import * as fc from 'fast-check';
import { Stage } from '../support.ts';
import { Disturbed, DISTURBANCES, KINDS, type Part, type Plan } from './disturbed.ts';
import { counted } from './long.ts';

const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 25);
const REPLAYED_RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 4);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 3);

/** Whether the conversation has had a new run before its last message. */
async function play(stage: Stage, plan: Plan): Promise<boolean> {
  const played = new Disturbed(plan);
  const world = await stage.start((made) => played.prepare(made), { freezeAfterMs: 1, stopAfterMs: 20 });
  const { runId } = await world.handle.describe();
  await played.toEnd();
  const hasMoved = (await world.handle.describe()).runId !== runId;
  // It may be closed by what is left of the plan.
  await world.send('the last one').catch(() => undefined);
  await played.toEnd();
  expect(await world.status()).toMatchObject({ runningCalls: [], pendingApprovals: [] });
  await world.handle.signal('close').catch(() => undefined);
  await played.untilClosed();
  check(played);
  return hasMoved;
}

/** What holds of each conversation, whatever was done to it. */
function check(played: Disturbed): void {
  const { world } = played;
  // A workflow task that begins again may ask for the same end again: both have one key.
  const ends = new Set(world.asked('finishTurn').map(({ turnId, outcome }) => JSON.stringify({ turnId, outcome })));
  const ended = [...ends].map((end) => (JSON.parse(end) as { turnId: string }).turnId);
  expect(ended).toEqual([...new Set(ended)]);
  // Each turn that has begun has one end, and its steps count without a gap.
  const asked = world.asked('callModel');
  for (const turnId of new Set(asked.map((args) => args['turnId']))) {
    expect(ended).toContain(turnId);
    const steps = asked.filter((args) => args['turnId'] === turnId).map(({ step }) => step);
    expect([...new Set(steps)]).toEqual(counted(new Set(steps).size));
  }
  checkCalls(played);
}

function checkCalls(played: Disturbed): void {
  const { world } = played;
  const ran = world.book.filter(({ activity }) => activity.includes(':')).map(({ args }) => String(args['callId']));
  const settled = world.asked('settleCall').map(({ callId }) => String(callId));
  // Each call that the model has made has an end, and no call is settled twice.
  const made = played.proposed.slice(0, world.asked('callModel').length).flat();
  const begun = made.filter(({ callId }) => ran.includes(callId) || settled.includes(callId));
  expect(begun.map(({ callId }) => callId)).toEqual(made.map(({ callId }) => callId));
  expect(settled).toEqual([...new Set(settled)]);
  // Calls of code that only wait are looked at more than once; the others run once.
  const once = [...played.codes.values()].flat().filter(({ client }) => client !== true);
  for (const { callId } of once) expect(ran.filter((id) => id === callId).length).toBeLessThanOrEqual(1);
  // Nothing stops the sandbox in which code waits.
  const names = world.names();
  for (const code of played.codes.keys()) {
    const attached = `shell:run ${code}`;
    expect(names.slice(names.indexOf(attached), names.lastIndexOf(attached))).not.toContain('stopSandbox');
  }
}

const part: fc.Arbitrary<Part> = fc.record({ kind: fc.constantFrom(...KINDS), count: fc.integer({ min: 1, max: 8 }) });
const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 6 }),
  disturbances: fc.array(fc.record({ at: fc.integer({ min: 1, max: 60 }), what: fc.constantFrom(...DISTURBANCES) }), { minLength: 1, maxLength: 6 }),
  counted: fc.boolean(),
});

async function playAll(numRuns: number, options: Parameters<typeof Stage.open>[0] = {}): Promise<void> {
  const stage = await Stage.open(options);
  let moved = 0;
  const count = async (one: Plan) => void (moved += Number(await play(stage, one)));
  try {
    await fc.assert(fc.asyncProperty(plan, count), { numRuns, seed: SEED, endOnFailure: true });
  } finally {
    await stage.close();
  }
  expect(moved).toBeGreaterThanOrEqual(numRuns / 4);
}

test('turns that go on in new runs end once, and run each call once, whatever is said to them meanwhile', async () => {
  await playAll(RUNS);
}, 300_000);

test('the same holds when each workflow task begins with a replay of all before it', async () => {
  await playAll(REPLAYED_RUNS, { maxCachedWorkflows: 0 });
}, 300_000);
