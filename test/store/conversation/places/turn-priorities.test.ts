import type { Priority } from '../../../../src/contracts/places/priority.ts';
import type { TurnLimits } from '../../../../src/store/conversation/turn-places.ts';
import type { Store } from '../../../../src/store/store.ts';
import { useTestStore } from '../../support.ts';
import { type Asking, endAll, HELD, nameOf, namesOf, turnOf } from './turns.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));
const newTurn = (tenantId: string, more?: Partial<Asking>) => turnOf(store, tenantId, more);
/** No test sees the places of another one. */
afterEach(() => endAll(store));

/** Gives the only place to one after the other. */
async function orderOf(running: Asking, waiting: Record<string, Asking>, limits: TurnLimits): Promise<string[]> {
  const order: string[] = [];
  let ended = running;
  while (order.length < Object.keys(waiting).length) {
    const placed = await store.turnPlaces.leave(ended, 'ends', limits);
    expect(placed).toHaveLength(1);
    const [name, next] = Object.entries(waiting).find(([, turn]) => nameOf(turn) === nameOf(placed[0]!))!;
    await store.turnPlaces.told(placed[0]!);
    order.push(name);
    ended = next;
  }
  return order;
}

async function inLine(
  tenantId: string,
  priorities: Record<string, Priority>,
  limits: TurnLimits,
): Promise<{ running: Asking; waiting: Record<string, Asking> }> {
  const running = await newTurn(tenantId);
  expect(await store.turnPlaces.ask(running, limits)).toEqual(HELD);
  const waiting: Record<string, Asking> = {};
  for (const [name, priority] of Object.entries(priorities)) {
    waiting[name] = await newTurn(tenantId, { priority });
    expect((await store.turnPlaces.ask(waiting[name], limits)).place.outcome).toBe('waits');
  }
  return { running, waiting };
}

test('three of four places go to the highest priority, in order, and the fourth to who has waited longest', async () => {
  const limits = { tenant: 1 };
  const { running, waiting } = await inLine(
    'classes',
    { low1: 'low', low2: 'low', n1: 'normal', n2: 'normal', h1: 'high', h2: 'high', h3: 'high', h4: 'high' },
    limits,
  );
  // The one that runs has the first place of its tenant.
  expect(await orderOf(running, waiting, limits)).toEqual(['h1', 'h2', 'low1', 'h3', 'h4', 'n1', 'low2', 'n2']);
});

test('turns of high priority that come all the time do not keep a turn of low priority from running', async () => {
  const limits = { tenant: 1 };
  const { running, waiting } = await inLine('endless', { low: 'low' }, limits);
  let ended = running;
  let places = 0;
  for (;;) {
    const next = await newTurn('endless', { priority: 'high' });
    await store.turnPlaces.ask(next, limits);
    const [placed] = await store.turnPlaces.leave(ended, 'ends', limits);
    places += 1;
    if (nameOf(placed!) === nameOf(waiting['low']!)) break;
    await store.turnPlaces.told(placed!);
    ended = next;
    expect(places).toBeLessThan(4);
  }
  expect(places).toBe(3);
});

test('the priority of one tenant changes nothing for another', async () => {
  const limits = { installation: 1 };
  const first = await newTurn('modest');
  await store.turnPlaces.ask(first, limits);
  const names = ['loud', 'quiet', 'loud', 'quiet'];
  const turns = [];
  for (const [index, tenantId] of names.entries()) {
    const turn = await newTurn(tenantId, { priority: tenantId === 'loud' ? 'high' : 'low', turnId: `turn_${index}` });
    await store.turnPlaces.ask(turn, limits);
    turns.push(turn);
  }
  expect(await orderOf(first, Object.fromEntries(turns.map((turn, index) => [`${names[index]} ${index}`, turn])), limits)).toEqual([
    'loud 0',
    'quiet 1',
    'loud 2',
    'quiet 3',
  ]);
});

test('a turn of a sub-agent has the priority of the turn that gave the task', async () => {
  const limits = { tenant: 1 };
  const parent = await newTurn('family', { priority: 'high' });
  await store.turnPlaces.ask(parent, limits);
  const normal = await newTurn('family');
  await store.turnPlaces.ask(normal, limits);
  const high = await newTurn('family', { priority: 'high' });
  await store.turnPlaces.ask(high, limits);
  const child = await newTurn('family', { parentId: parent.conversationId, priority: 'low' });
  await store.turnPlaces.ask(child, limits);
  expect(namesOf(await store.turnPlaces.leave(parent, 'rests', limits))).toEqual([nameOf(child)]);
  expect(await orderOf(child, { high, normal }, limits)).toEqual(['high', 'normal']);
});
