import { array, assert, asyncProperty, constantFrom, nat, oneof, record } from 'fast-check';
import { PRIORITIES, type Priority } from '../../../../src/contracts/places/priority.ts';
import type { PlacedTurn, TurnLimits } from '../../../../src/store/conversation/turn-places.ts';
import type { Store } from '../../../../src/store/store.ts';
import { openStore } from '../../../../src/store/open-store.ts';
import { BY, silent, useTestStore } from '../../support.ts';
import { AGENTS, type Asking, endAll, HELD, nameOf, namesOf, type Row, Rules, turnOf } from './turns.ts';

let store: Store;
let another: Store;
let url: string;
// Before the database goes with the other one.
afterAll(() => another[Symbol.asyncDispose]());
useTestStore((opened) => ({ store, url } = opened));
beforeAll(async () => {
  another = await openStore({ url, log: silent });
});

/** Ends a turn without giving its place back, as a worker does that dies at the wrong moment. */
async function endSilently({ conversationId, turnId }: Asking): Promise<void> {
  await store.events.append(conversationId, [{ type: 'turn.finished', turnId, data: { outcome: 'finished' } }]);
}

const waitsFor = (limit: string, name: string | undefined, allowed: number) => ({
  place: { outcome: 'waits', waits: { limit, ...(name !== undefined && { name }), running: allowed, allowed } },
  others: [],
});
/** No test sees the places of another one. */
const newTurn = (tenantId: string, more?: Partial<Asking>) => turnOf(store, tenantId, more);
afterEach(() => endAll(store));

test('a turn asks for one place, however often it asks; the next gets it at its end, and is told until it knows', async () => {
  const limits = { tenant: 1 };
  const [first, second] = [await newTurn('one'), await newTurn('one')];
  for (let time = 0; time < 3; time += 1) expect(await store.turnPlaces.ask(first, limits)).toEqual(HELD);
  for (let time = 0; time < 3; time += 1) expect(await store.turnPlaces.ask(second, limits)).toEqual(waitsFor('tenant', 'one', 1));
  const [placed, ...none] = await store.turnPlaces.leave(first, 'ends', limits);
  expect([placed && nameOf(placed), none]).toEqual([nameOf(second), []]);
  // Its attempt is repeated: nothing more is given.
  expect(await store.turnPlaces.leave(first, 'ends', limits)).toEqual([]);
  expect(await store.turnPlaces.sweep(limits)).toEqual([placed]);
  await store.turnPlaces.told(placed!);
  expect(await store.turnPlaces.sweep(limits)).toEqual([]);
  expect(await store.turnPlaces.ask(second, limits)).toEqual(HELD);
});

test('the limit that is reached is named: of the agent, of the tenant as operators have set it, of the installation', async () => {
  await store.limits.set({ tenant: 'two' }, { runningTurns: 2 }, BY);
  const limits = { tenant: 1, installation: 3 };
  expect(await store.turnPlaces.ask(await newTurn('two', { agentId: 'rare', agentMost: 1 }), limits)).toEqual(HELD);
  expect(await store.turnPlaces.ask(await newTurn('three', { agentId: 'rare', agentMost: 1 }), limits)).toEqual(waitsFor('agent', 'rare', 1));
  expect(await store.turnPlaces.ask(await newTurn('two'), limits)).toEqual(HELD);
  expect(await store.turnPlaces.ask(await newTurn('two'), limits)).toEqual(waitsFor('tenant', 'two', 2));
  expect(await store.turnPlaces.ask(await newTurn('three'), limits)).toEqual(HELD);
  expect(await store.turnPlaces.ask(await newTurn('four'), limits)).toEqual(waitsFor('installation', undefined, 3));
  await store.limits.set({ tenant: 'two' }, {}, BY);
});

test('a limit that is raised gives places at the next sweep, and one that is lowered takes none away', async () => {
  const turns = [await newTurn('five'), await newTurn('five'), await newTurn('five')];
  const [first, second, third] = turns as [Asking, Asking, Asking];
  expect(await store.turnPlaces.ask(first, { tenant: 1 })).toEqual(HELD);
  expect(await store.turnPlaces.ask(second, { tenant: 1 })).toEqual(waitsFor('tenant', 'five', 1));
  expect(namesOf(await store.turnPlaces.sweep({ tenant: 2 }))).toEqual([nameOf(second)]);
  expect(await store.turnPlaces.ask(second, { tenant: 1 })).toEqual(HELD);
  const more = { outcome: 'waits', waits: { limit: 'tenant', name: 'five', running: 2, allowed: 1 } };
  expect((await store.turnPlaces.ask(third, { tenant: 1 })).place).toEqual(more);
});

test('a limit of an agent that has changed holds for turns that wait from the next sweep on, so that none that asks later passes them', async () => {
  const rare = { agentId: 'scarce', agentMost: 1 };
  const [first, second, third, fourth] = [await newTurn('ten', rare), await newTurn('ten', rare), await newTurn('ten', rare), await newTurn('ten', rare)];
  expect(await store.turnPlaces.ask(first, {})).toEqual(HELD);
  expect(await store.turnPlaces.ask(second, {})).toEqual(waitsFor('agent', 'scarce', 1));
  expect(await store.turnPlaces.ask(third, {})).toEqual(waitsFor('agent', 'scarce', 1));
  expect(await store.turnPlaces.sweep({}, { scarce: 1, other: null })).toEqual([]);
  expect(namesOf(await store.turnPlaces.sweep({}, { scarce: 2, other: null }))).toEqual([nameOf(second)]);
  expect((await store.turnPlaces.ask({ ...fourth, agentMost: 2 }, {})).place.outcome).toBe('waits');
  expect((await store.turnPlaces.ask({ ...second, agentMost: 2 }, {})).place.outcome).toBe('held');
  expect(namesOf(await store.turnPlaces.sweep({}, { scarce: null }))).toEqual([nameOf(third), nameOf(fourth)]);
});

test('who gives its place back for a time comes before those that have begun later', async () => {
  const limits = { tenant: 1 };
  const [first, second, third] = [await newTurn('six'), await newTurn('six'), await newTurn('six')];
  await store.turnPlaces.ask(first, limits);
  await store.turnPlaces.ask(second, limits);
  await store.turnPlaces.ask(third, limits);
  expect(namesOf(await store.turnPlaces.leave(first, 'rests', limits))).toEqual([nameOf(second)]);
  expect(await store.turnPlaces.ask(first, limits)).toMatchObject({ place: { outcome: 'waits' } });
  expect(namesOf(await store.turnPlaces.leave(second, 'ends', limits))).toEqual([nameOf(first)]);
});

test('a turn of a sub-agent stands in the line where the turn that gave the task does', async () => {
  const limits = { tenant: 1 };
  const [parent, other] = [await newTurn('seven'), await newTurn('seven')];
  const child = await newTurn('seven', { parentId: parent.conversationId });
  await store.turnPlaces.ask(parent, limits);
  await store.turnPlaces.ask(other, limits);
  await store.turnPlaces.ask(child, limits);
  expect(namesOf(await store.turnPlaces.leave(parent, 'rests', limits))).toEqual([nameOf(child)]);
});

test('a tenant with many waiting turns delays the single turn of another one by the end of one turn', async () => {
  const limits = { installation: 1 };
  const many = await Promise.all(Array.from({ length: 30 }, () => newTurn('many')));
  for (const turn of many) await store.turnPlaces.ask(turn, limits);
  const single = await newTurn('single');
  await store.turnPlaces.ask(single, limits);
  expect(namesOf(await store.turnPlaces.leave(many[0]!, 'ends', limits))).toEqual([nameOf(single)]);
  let ended = single;
  for (const next of many.slice(1)) {
    expect(namesOf(await store.turnPlaces.leave(ended, 'ends', limits))).toContain(nameOf(next));
    ended = next;
  }
});

test('places of turns that ended silently, and of conversations that are closed or gone, are free at the next sweep', async () => {
  const limits = { tenant: 3 };
  const [ended, closed, removed] = [await newTurn('eight'), await newTurn('eight'), await newTurn('eight')];
  for (const turn of [ended, closed, removed]) expect(await store.turnPlaces.ask(turn, limits)).toEqual(HELD);
  const waiting = [await newTurn('eight'), await newTurn('eight'), await newTurn('eight'), await newTurn('eight')];
  for (const turn of waiting) await store.turnPlaces.ask(turn, limits);
  await endSilently(ended);
  await store.conversations.close(closed.conversationId, { by: 'reaper', workflow: 'terminated' });
  await store.conversations.close(waiting[0]!.conversationId, {});
  expect(namesOf(await store.turnPlaces.sweep(limits))).toEqual(waiting.slice(1, 3).map(nameOf));
  // An attempt that was thought dead asks once more: it gets nothing that somebody would have to give back.
  for (const turn of [ended, closed, { ...ended, conversationId: 'conv_unknown' }]) {
    expect((await store.turnPlaces.ask(turn, limits)).place).toEqual({ outcome: 'over' });
  }
  await endSilently(removed);
  expect(namesOf(await store.turnPlaces.sweep(limits))).toContain(nameOf(waiting[3]!));
});

/** Does with the database what the rules are told, and compares. */
class Comparison {
  readonly rules: Rules;
  readonly prefix: string;
  readonly most: Record<string, number | undefined> = { ...AGENTS };
  constructor(limits: TurnLimits, prefix: string) {
    this.rules = new Rules(limits);
    this.prefix = prefix;
  }

  async begin(tenant: string, agent: string, priority: Priority): Promise<void> {
    const agentMost = this.most[agent];
    const named = { agentId: this.prefix + agent, priority, ...(agentMost !== undefined && { agentMost }) };
    const row: Row = { ...(await newTurn(this.prefix + tenant, named)), state: 'waiting', position: ++this.rules.count };
    this.rules.rows.push(row);
    await this.ask(row);
  }
  async ask(row: Row): Promise<void> {
    if (row.state === 'away') row.state = 'waiting';
    const given = this.rules.give();
    const { place, others } = await store.turnPlaces.ask(row, this.rules.limits);
    expect(place.outcome).toBe(row.state === 'held' ? 'held' : 'waits');
    const told = given.filter((name) => name !== nameOf(row));
    await this.tell(others, told);
  }
  async end(row: Row, times: number): Promise<void> {
    this.#remove(row);
    for (let time = 0; time < times; time += 1) await this.tell(await store.turnPlaces.leave(row, 'ends', this.rules.limits), this.rules.give());
  }
  async rest(row: Row): Promise<void> {
    row.state = 'away';
    await this.tell(await store.turnPlaces.leave(row, 'rests', this.rules.limits), this.rules.give());
  }
  async crash(row: Row): Promise<void> {
    this.#remove(row);
    await endSilently(row);
    await this.sweep();
  }
  async sweep(): Promise<void> {
    const agents = Object.fromEntries(Object.entries(this.most).map(([agent, most = null]) => [this.prefix + agent, most]));
    await this.tell(await store.turnPlaces.sweep(this.rules.limits, agents), this.rules.give());
  }
  /** Operators change what holds for all, and what holds for an agent. */
  async change(limits: TurnLimits, rare: number | undefined): Promise<void> {
    this.rules.limits = limits;
    this.most['rare'] = rare;
    for (const row of this.rules.rows) {
      delete row.agentMost;
      const most = this.most[row.agentId.slice(this.prefix.length)];
      if (most !== undefined) row.agentMost = most;
    }
    await this.sweep();
  }
  async tell(placed: PlacedTurn[], expected: string[]): Promise<void> {
    expect(namesOf(placed)).toEqual(expected);
    for (const turn of placed) await store.turnPlaces.told(turn);
  }
  #remove(row: Row): void {
    this.rules.rows.splice(this.rules.rows.indexOf(row), 1);
  }
}

test('in any order of asking, leaving, resting, crashing, repeating and changing the limits: exactly the places that the rules give', async () => {
  const begins = record({ begin: constantFrom('red', 'green', 'blue'), agent: constantFrom('rare', 'fixer'), priority: constantFrom(...PRIORITIES) });
  const others = record({ to: nat(20), act: constantFrom('ask', 'end', 'end twice', 'rest', 'crash', 'sweep') });
  const limited = constantFrom<TurnLimits>({ tenant: 1 }, { tenant: 2, installation: 3 }, { installation: 2 });
  const changes = record({ limits: limited, rare: constantFrom(1, 2, undefined) });
  let run = 0;
  const keepsTheRules = asyncProperty(
    array(oneof({ weight: 3, arbitrary: begins }, { weight: 3, arbitrary: others }, changes), { maxLength: 25 }),
    limited,
    async (actions, limits) => {
      await endAll(store);
      const comparison = new Comparison(limits, `${++run}-`);
      const { rows } = comparison.rules;
      for (const action of actions) {
        if ('limits' in action) await comparison.change(action.limits, action.rare);
        else if ('begin' in action) await comparison.begin(action.begin, action.agent, action.priority);
        else await actOn(comparison, rows[action.to % Math.max(1, rows.length)], action.act);
      }
    },
  );
  await assert(keepsTheRules, { numRuns: 60 });
}, 180_000);

async function actOn(comparison: Comparison, row: Row | undefined, act: string): Promise<void> {
  if (!row || act === 'sweep') return comparison.sweep();
  if (act === 'ask') return comparison.ask(row);
  if (act === 'rest') return comparison.rest(row);
  if (act === 'crash') return comparison.crash(row);
  return comparison.end(row, act === 'end' ? 1 : 2);
}

test('many at the same moment, at two workers: never more than the limit, and each gets its place once', async () => {
  const limits = { tenant: 3 };
  const turns = await Promise.all(Array.from({ length: 24 }, () => newTurn('nine')));
  let running = 0;
  let most = 0;
  const placed = new Map<string, number>();
  const waiting = new Map(turns.map((turn) => [nameOf(turn), turn]));
  const work = async (turn: Asking, by: Store): Promise<void> => {
    if (!waiting.delete(nameOf(turn))) return;
    placed.set(nameOf(turn), (placed.get(nameOf(turn)) ?? 0) + 1);
    running += 1;
    most = Math.max(most, running);
    await by.turnPlaces.ask(turn, limits);
    running -= 1;
    await goOn(await by.turnPlaces.leave(turn, 'ends', limits), by);
  };
  const goOn = async (given: PlacedTurn[], by: Store): Promise<void> => {
    await Promise.all(
      given.map(async (one) => {
        await by.turnPlaces.told(one);
        const turn = turns.find((other) => nameOf(other) === nameOf(one));
        if (turn) await work(turn, by);
      }),
    );
  };
  await Promise.all(
    turns.map(async (turn, index) => {
      const by = index % 2 === 0 ? store : another;
      const { place, others } = await by.turnPlaces.ask(turn, limits);
      await Promise.all([place.outcome === 'held' ? work(turn, by) : undefined, goOn(others, by)]);
    }),
  );
  expect([...placed.values()]).toEqual(Array.from({ length: 24 }, () => 1));
  expect(most).toBeLessThanOrEqual(3);
}, 60_000);
