import { array, assert, asyncProperty, constant, constantFrom, nat, oneof, record } from 'fast-check';
import type { PlacedTurn, TurnLimits } from '../../../src/store/conversation/turn-places.ts';
import type { Store } from '../../../src/store/store.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { BY, newConversation, newId, silent, useTestStore } from '../support.ts';

let store: Store;
let another: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));
beforeAll(async () => {
  another = await openStore({ url, log: silent });
});
afterAll(() => another[Symbol.asyncDispose]());

interface Asking {
  conversationId: string;
  turnId: string;
  tenantId: string;
  agentId: string;
  agentMost?: number;
  parentId?: string;
}

async function newTurn(tenantId: string, more: Partial<Asking> = {}): Promise<Asking> {
  return { conversationId: await newConversation(store, { tenantId }), turnId: newId('turn'), tenantId, agentId: 'fixer', ...more };
}

/** Ends a turn without giving its place back, as a worker does that dies at the wrong moment. */
async function endSilently({ conversationId, turnId }: Asking): Promise<void> {
  await store.events.append(conversationId, [{ type: 'turn.finished', turnId, data: { outcome: 'finished' } }]);
}

const nameOf = ({ conversationId, turnId }: { conversationId: string; turnId: string }) => `${conversationId} ${turnId}`;
const namesOf = (placed: PlacedTurn[]) => placed.map(nameOf);
const HELD = { place: { outcome: 'held' }, others: [] };
const waitsFor = (limit: string, name: string | undefined, allowed: number) => ({
  place: { outcome: 'waits', waits: { limit, ...(name !== undefined && { name }), running: allowed, allowed } },
  others: [],
});
/** No test sees the places of another one. */
afterEach(endAll);

async function endAll(): Promise<void> {
  for (const { conversationId } of await store.conversations.listOpen({ afterId: '', limit: 1000 })) await store.conversations.close(conversationId, {});
  expect(await store.turnPlaces.sweep({})).toEqual([]);
}

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

interface Row extends Asking {
  state: 'held' | 'waiting' | 'away';
  position: number;
}
const AGENTS: Record<string, number | undefined> = { rare: 1, fixer: undefined };

/** The rules, for one that does everything in order. */
class Rules {
  readonly rows: Row[] = [];
  readonly rounds = new Map<string, number>();
  readonly limits: TurnLimits;
  count = 0;
  constructor(limits: TurnLimits) {
    this.limits = limits;
  }

  running(isMeant: (row: Row) => boolean): number {
    return this.rows.filter((row) => row.state === 'held' && isMeant(row)).length;
  }
  fits(row: Row): boolean {
    const { tenant = Infinity, installation = Infinity } = this.limits;
    return (
      this.running(({ tenantId }) => tenantId === row.tenantId) < tenant &&
      this.running(({ agentId }) => agentId === row.agentId) < (row.agentMost ?? Infinity) &&
      this.running(() => true) < installation
    );
  }
  give(): string[] {
    const given: string[] = [];
    for (;;) {
      const fitting = this.rows.filter((row) => row.state === 'waiting' && this.fits(row));
      const [next] = fitting.toSorted((a, b) => (this.rounds.get(a.tenantId) ?? 0) - (this.rounds.get(b.tenantId) ?? 0) || a.position - b.position);
      if (!next) return given;
      next.state = 'held';
      this.rounds.set(next.tenantId, ++this.count);
      given.push(nameOf(next));
    }
  }
}

test('in any order of asking, leaving, resting, crashing and repeating: exactly the places that the rules give', async () => {
  const action = oneof(
    record({ asks: constantFrom('red', 'green', 'blue'), agentId: constantFrom('rare', 'fixer') }),
    record({ again: nat(20) }),
    record({ ends: nat(20), twice: constantFrom(true, false) }),
    record({ rests: nat(20) }),
    record({ crashes: nat(20) }),
    record({ sweeps: constant(true) }),
  );
  let run = 0;
  const keepsTheRules = asyncProperty(
    array(action, { maxLength: 25 }),
    constantFrom<TurnLimits>({ tenant: 1 }, { tenant: 2, installation: 3 }, { installation: 2 }),
    async (actions, limits) => {
      const rules = new Rules(limits);
      const prefix = `${++run}-`;
      await endAll();
      const tell = async (placed: PlacedTurn[], expected: string[]) => {
        expect(namesOf(placed)).toEqual(expected);
        for (const turn of placed) await store.turnPlaces.told(turn);
      };
      const ask = async (row: Row) => {
        if (row.state === 'away') row.state = 'waiting';
        const given = rules.give();
        const { place, others } = await store.turnPlaces.ask(row, limits);
        expect(place.outcome).toBe(row.state === 'held' ? 'held' : 'waits');
        await tell(
          others,
          given.filter((name) => name !== nameOf(row)),
        );
      };
      const at = (index: number) => rules.rows[index % Math.max(1, rules.rows.length)];
      for (const step of actions) {
        if ('asks' in step) {
          const agentMost = AGENTS[step.agentId];
          const turn = await newTurn(prefix + step.asks, { agentId: prefix + step.agentId, ...(agentMost !== undefined && { agentMost }) });
          const row: Row = { ...turn, state: 'waiting', position: ++rules.count };
          rules.rows.push(row);
          await ask(row);
        } else if ('again' in step) {
          const row = at(step.again);
          if (row) await ask(row);
        } else if ('ends' in step) {
          const row = at(step.ends);
          if (!row) continue;
          rules.rows.splice(rules.rows.indexOf(row), 1);
          await tell(await store.turnPlaces.leave(row, 'ends', limits), rules.give());
          if (step.twice) await tell(await store.turnPlaces.leave(row, 'ends', limits), []);
        } else if ('rests' in step) {
          const row = at(step.rests);
          if (!row) continue;
          row.state = 'away';
          await tell(await store.turnPlaces.leave(row, 'rests', limits), rules.give());
        } else if ('crashes' in step) {
          const row = at(step.crashes);
          if (!row) continue;
          await endSilently(row);
          rules.rows.splice(rules.rows.indexOf(row), 1);
          await tell(await store.turnPlaces.sweep(limits), rules.give());
        } else await tell(await store.turnPlaces.sweep(limits), []);
      }
    },
  );
  await assert(keepsTheRules, { numRuns: 40 });
}, 180_000);

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
