import * as fc from 'fast-check';
import { asks, Stage, toolCall, until, type World } from '../support.ts';
import { codeThatCalls, counted, finished, long } from './long.ts';

const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 25);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 3);

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const WHAT = ['pause', 'pause now', 'resume', 'steer', 'queue', 'interrupt', 'interrupt by a message', 'stop', 'cancel', 'close'] as const;

interface Disturbance {
  /** It happens with this activity of the conversation. */
  at: number;
  what: (typeof WHAT)[number];
}
interface Plan {
  /** Of each step: how many calls its code makes; 0 for a call without code. */
  steps: number[];
  disturbances: Disturbance[];
}

/** A conversation whose activities all make a long history, so that each run has few of them, and what is done to it meanwhile. */
class Disturbed {
  readonly plan: Plan;
  readonly #left: Disturbance[];
  world!: World;

  constructor(plan: Plan) {
    this.plan = plan;
    this.#left = [...plan.disturbances];
  }

  /** Does what is due by now. The answers to messages are not waited for: the workflow may wait for this activity. */
  async happen(): Promise<void> {
    const asked = this.world.book.length;
    for (const { what } of this.#left.filter(({ at }) => at <= asked)) await this.#do(what);
    this.#left.splice(0, Infinity, ...this.#left.filter(({ at }) => at > asked));
  }

  async #do(what: Disturbance['what']): Promise<void> {
    const { handle } = this.world;
    const signal = (name: string, args: object = {}) => handle.signal(name, args).catch(() => undefined);
    switch (what) {
      case 'pause':
        return signal('pause', { mode: 'step' });
      case 'pause now':
        return signal('pause', { mode: 'now' });
      case 'resume':
      case 'interrupt':
      case 'cancel':
      case 'close':
        return signal(what);
      case 'stop':
        return signal('stopAfterStep');
      case 'steer':
      case 'queue':
        return this.#send(what);
      case 'interrupt by a message':
        return this.#send('interrupt');
    }
  }

  #send(whenBusy: string): Promise<void> {
    void this.world.send('more', { whenBusy }).catch(() => undefined);
    return Promise.resolve();
  }

  /** Resumes what is paused until all is answered. */
  async toEnd(): Promise<void> {
    await until(
      async () => {
        const { state } = await this.world.status();
        if (state === 'paused') await this.world.handle.signal('resume');
        return state === 'closed' || (state === 'idle' && this.world.saved?.state === 'idle' && this.world.saved.queued === 0);
      },
      () => this.world.names().join(', '),
    );
  }
}

/** Conversations that have had a new run before their last message. */
let moved = 0;

async function play(plan: Plan): Promise<void> {
  const played = new Disturbed(plan);
  const codes = new Map<string, ReturnType<typeof codeThatCalls>>();
  const world = await stage.start(
    (made) => {
      played.world = made;
      for (const [step, methods] of plan.steps.entries()) {
        const call = toolCall();
        if (methods > 0)
          codes.set(
            call.callId,
            codeThatCalls(
              call.callId,
              counted(methods).map((index) => `${call.callId}/${step}-${index}`),
            ),
          );
        made.answers.push(long(asks(call)));
      }
      made.tool = async (args, ...more) => {
        await played.happen();
        const [codeId = ''] = args.callId.split('/');
        return (await codes.get(codeId)?.(args, ...more)) ?? finished();
      };
    },
    { freezeAfterMs: 1, stopAfterMs: 20 },
  );
  const { runId } = await world.handle.describe();
  await played.toEnd();
  if ((await world.handle.describe()).runId !== runId) moved += 1;
  // It may be closed by what is left of the plan.
  await world.send('the last one').catch(() => undefined);
  await played.toEnd();
  await world.handle.signal('close').catch(() => undefined);
  await world.handle.result();
  check(played);
}

/** What holds of each conversation, whatever was done to it. */
function check({ world, plan }: Disturbed): void {
  const ended = world.asked('finishTurn').map(({ turnId }) => turnId);
  expect(ended).toEqual([...new Set(ended)]);
  // Each turn that has begun has one end, and its steps count without a gap.
  const asked = world.asked('callModel');
  for (const turnId of new Set(asked.map((args) => args['turnId']))) {
    expect(ended).toContain(turnId);
    const steps = asked.filter((args) => args['turnId'] === turnId).map(({ step }) => step);
    expect([...new Set(steps)]).toEqual(counted(new Set(steps).size));
  }
  // No call runs twice, and those of code in their order.
  const methods = world.asked('shell:run').flatMap(({ callId }) => (String(callId).includes('/') ? [String(callId)] : []));
  expect(methods.filter((callId, index) => methods.indexOf(callId) !== index)).toEqual([]);
  // Nothing stops the sandbox in which code waits.
  const names = world.names();
  for (const code of new Set(methods.map((callId) => callId.split('/')[0]))) {
    const attached = `shell:run ${code}`;
    expect(names.slice(names.indexOf(attached), names.lastIndexOf(attached))).not.toContain('stopSandbox');
  }
  expect(methods.length).toBeLessThanOrEqual(plan.steps.reduce((sum, count) => sum + count, 0));
}

const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8 })), { minLength: 4, maxLength: 12 }),
  disturbances: fc.array(fc.record({ at: fc.integer({ min: 1, max: 60 }), what: fc.constantFrom(...WHAT) }), { minLength: 1, maxLength: 6 }),
});

test('turns that go on in new runs end once, and run each call once, whatever is said to them meanwhile', async () => {
  await fc.assert(fc.asyncProperty(plan, play), { numRuns: RUNS, seed: SEED, endOnFailure: true });
  expect(moved).toBeGreaterThan(RUNS / 4);
});
