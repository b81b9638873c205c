import { array, assert, asyncProperty, constant, integer, oneof, record } from 'fast-check';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { Logger } from '../../../src/platform/log.ts';
import { createIsolate, type Isolate } from '../../../src/plugins/isolates/isolate.ts';
import { createPlaces, type Places } from '../../../src/plugins/isolates/places.ts';
import type { PluginProcess } from '../../../src/plugins/isolates/plugin-process.ts';
import type { Processes } from '../../../src/plugins/isolates/plugin-processes.ts';
import type { FromGuest, ToGuest } from '../../../src/plugins/isolates/guest-protocol.ts';
import { contextOf } from './support.ts';

const { jest: jester } = import.meta as unknown as { jest: typeof jest };
beforeAll(() => jester.useFakeTimers({ doNotFake: ['setImmediate', 'queueMicrotask', 'nextTick', 'performance'] }));
afterAll(() => jester.useRealTimers());

const PLUGINS = 3;
const TIMEOUT_MS = 3_000;
const GRANTS = { time: false, random: false, network: false, files: false };

/** A process in virtual time that keeps account of whose data came to it. */
interface FakeProcess extends PluginProcess {
  tenants: Set<string>;
}

function sizeAfter({ target, args }: Extract<ToGuest, { type: 'call' }>, size: number): number {
  const [scope, config] = args;
  return 'hook' in target && target.hook === 'updateConfig' && scope === 'self' ? (config as { size: number }).size : size;
}

class World {
  readonly processes: FakeProcess[] = [];
  readonly places: Places;
  mostAtOnce = 0;

  constructor(limit: number) {
    this.places = createPlaces(limit);
  }

  alive(): FakeProcess[] {
    return this.processes.filter((each) => each.alive());
  }

  open(plugin: number): Isolate {
    const log = { info: () => undefined, warn: () => undefined } as unknown as Logger;
    const processes = { take: async () => this.start() } as unknown as Processes;
    return createIsolate({
      plugin: `p${plugin}`,
      code: 'code',
      grants: GRANTS,
      processes,
      places: this.places,
      limits: { unresponsiveMs: 60_000, graceMs: 100 },
      idleMs: 5_000,
      onRest: () => undefined,
      log,
      now: () => Date.now(),
    });
  }

  private start(): FakeProcess {
    let listener: (message: FromGuest, length: number) => void = () => undefined;
    let end: (why: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    let isAlive = true;
    let size = 0;
    const tell = (message: FromGuest) => isAlive && listener(message, 10);
    const done = (id: number, value: JsonObject | null, ms: number) => setTimeout(() => tell({ type: 'done', id, value }), ms);
    const fake: FakeProcess = {
      pid: undefined,
      ready: Promise.resolve(),
      ended,
      gone: ended.then(() => undefined),
      tenants: new Set(),
      alive: () => isAlive,
      heldMs: () => 0,
      listen: (onMessage) => void (listener = onMessage),
      kill(why) {
        isAlive = false;
        end(why);
      },
      send(message: ToGuest) {
        if (message.type === 'ping') tell({ type: 'pong', id: message.id });
        if (message.type === 'load') {
          size = ((message.host?.[0] as JsonObject | undefined)?.['config'] as { size: number } | undefined)?.size ?? 0;
          done(message.id, message.describe ? { plugin: { id: 'p' }, hooks: ['load', 'unload', 'updateConfig'] } : null, 40);
        }
        if (message.type !== 'call') return;
        tell({ type: 'begun', id: message.id });
        if (!message.facts) {
          size = sizeAfter(message, size);
          setTimeout(() => tell({ type: 'done', id: message.id, value: { tenants: [...fake.tenants] } }), 30);
          return;
        }
        fake.tenants.add(message.facts.tenantId);
        const { n, ms } = message.args[0] as { n: number; ms: number };
        setTimeout(() => tell({ type: 'done', id: message.id, value: { n, size } }), ms);
      },
    };
    this.processes.push(fake);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.alive().length);
    return fake;
  }
}

const step = oneof(
  {
    weight: 6,
    arbitrary: record({
      what: constant('call' as const),
      plugin: integer({ min: 0, max: PLUGINS - 1 }),
      tenant: integer({ min: 0, max: 3 }),
      ms: integer({ min: 1, max: 4_000 }).map((ms) => (ms > 2_000 ? ms : Math.ceil(ms / 10))),
    }),
  },
  { weight: 2, arbitrary: record({ what: constant('configure' as const), plugin: integer({ min: 0, max: PLUGINS - 1 }) }) },
  { weight: 1, arbitrary: record({ what: constant('kill' as const), which: integer({ min: 0, max: 20 }) }) },
  { weight: 1, arbitrary: record({ what: constant('reload' as const), plugin: integer({ min: 0, max: PLUGINS - 1 }) }) },
  { weight: 4, arbitrary: record({ what: constant('pass' as const), ms: integer({ min: 1, max: 7_000 }) }) },
);

async function pass(ms: number): Promise<void> {
  await jester.advanceTimersByTimeAsync(ms);
  await new Promise(setImmediate);
}

const hook = (name: string, args: JsonObject[] | [string, JsonObject, string]) => ({
  name: `p.${name}`,
  target: { hook: name },
  conversation: '',
  grants: GRANTS,
  args,
  timeoutMs: TIMEOUT_MS,
});

type Step = { what: string; plugin?: number; tenant?: number; ms?: number; which?: number };

/** What a run does, and what has to be true of each answer. */
class Run {
  readonly world: World;
  readonly outcomes: Promise<void>[] = [];
  readonly isolates: Isolate[] = [];
  /** The configuration that each plugin is known to have taken. */
  private readonly valid: number[] = [];
  private size = 0;

  constructor(limit: number) {
    this.world = new World(limit);
  }

  /** As the manager does: the version before it answers until the new one is loaded. */
  async reload({ plugin = 0 }: Step): Promise<void> {
    const made = this.world.open(plugin);
    const loaded = made.describe().then(() => made.call(hook('load', [{ env: {}, config: { size: 0 } }])));
    const value = await loaded.catch(() => undefined);
    if (!value) return made.close();
    expect(value).toEqual({ tenants: [] });
    const old = this.isolates[plugin];
    this.isolates[plugin] = made;
    this.valid[plugin] = 0;
    await old?.close();
  }

  async call({ plugin = 0, tenant = 0, ms = 1 }: Step, n: number): Promise<void> {
    const atLeast = this.valid[plugin];
    const caller = { context: contextOf('conv', { tenantId: tenant === 0 ? '' : `t${tenant}` }), permissions: {} };
    const request = { name: `p${plugin}:t`, target: { tool: 't' }, conversation: 'conv', grants: GRANTS, args: [{ n, ms }], timeoutMs: TIMEOUT_MS, caller };
    const answer = await this.isolates[plugin]!.call(request).catch((error: Error) => error.message);
    if (typeof answer === 'string') return expect(answer).toMatch(KNOWN_FAILURES);
    const { n: same, size } = answer as { n: number; size: number };
    expect(same).toBe(n);
    expect(size).toBeGreaterThanOrEqual(atLeast ?? 0);
  }

  async configure({ plugin = 0 }: Step): Promise<void> {
    const isolate = this.isolates[plugin]!;
    this.size += 1;
    const wanted = this.size;
    const value = await isolate.call(hook('updateConfig', ['self', { size: wanted }, '1'])).catch(() => undefined);
    if (value === undefined) return;
    expect(value).toEqual({ tenants: [] });
    if (this.isolates[plugin] === isolate) this.valid[plugin] = wanted;
  }

  async take(step: Step, n: number): Promise<void> {
    if (step.what === 'call') this.outcomes.push(this.call(step, n));
    if (step.what === 'configure') this.outcomes.push(this.configure(step));
    if (step.what === 'reload') this.outcomes.push(this.reload(step));
    const alive = this.world.alive();
    if (step.what === 'kill') alive[(step.which ?? 0) % Math.max(1, alive.length)]?.kill('killed');
    await (step.what === 'pass' ? pass(step.ms ?? 1) : new Promise(setImmediate));
  }
}

const KNOWN_FAILURES =
  /waited \d+ ms for a process|took longer than \d+ ms|its process was ended: (killed|the plugin was closed|p\d:t went on)|was ended too often|worker is stopping/;

async function tryOut(limit: number, steps: Step[]): Promise<void> {
  const run = new Run(limit);
  const { world, isolates, outcomes } = run;
  for (let plugin = 0; plugin < PLUGINS; plugin += 1) {
    const loaded = run.reload({ what: 'reload', plugin });
    // oxlint-disable-next-line no-await-in-loop -- they are loaded one after the other
    await pass(2_500).then(() => loaded);
  }
  for (const [n, step] of steps.entries()) {
    // oxlint-disable-next-line no-await-in-loop -- the order of the steps is what is tried
    await run.take(step, n);
    expect(world.alive().length).toBeLessThanOrEqual(limit);
    for (const each of world.processes) expect(each.tenants.size).toBeLessThanOrEqual(1);
  }
  // What waits for a place behind changes that wait for theirs takes the longest.
  const all = Promise.all(outcomes);
  const given = await Promise.race([all.then(() => 'all answered'), pass(400_000).then(() => 'some without an answer')]);
  await (given === 'all answered' && all);
  expect(given).toBe('all answered');
  // What is not used any more sleeps.
  await pass(60_000);
  expect([world.alive().length, world.mostAtOnce <= limit]).toEqual([0, true]);
  await Promise.all(isolates.map((isolate) => isolate.close()));
}

test('whatever happens in which order, no process has data of two tenants, none that has any answers for all, and their number is bounded', async () => {
  const runs = array(step, { minLength: 10, maxLength: 50, size: 'max' });
  await assert(asyncProperty(integer({ min: 1, max: 4 }), runs, tryOut), { numRuns: 60 });
}, 300_000);
