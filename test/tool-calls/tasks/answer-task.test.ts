import type { Agent } from '../../../src/contracts/agent.ts';
import type { Json } from '../../../src/contracts/json.ts';
import type { PluginTimer } from '../../../src/contracts/plugins/timer.ts';
import type { ConversationWish } from '../../../src/plugins/api/task-question.ts';
import { createAllowance } from '../../../src/tool-calls/tasks/allowance.ts';
import { createAnswerTask } from '../../../src/tool-calls/tasks/answer-task.ts';
import { fireTimers } from '../../../src/tool-calls/tasks/fire-timers.ts';

const idOf = (number: number) => number.toString(16).padStart(32, '0');
const agent = (id: string) => ({ id, model: 'openai/harbour' }) as Agent;
const say = (...texts: string[]) => ({ what: 'send' as const, parts: texts.map((text) => ({ type: 'text' as const, text })) });
type Wish<One = ConversationWish> = One extends ConversationWish ? Omit<One, 'conversationId'> : never;

const isPart = (part: object, whole: object) => Object.entries(part).every(([name, value]) => (whole as Record<string, unknown>)[name] === value);

/** A store in memory that takes what has a key once. */
function bench({ full = false } = {}) {
  const entries = new Map<string, string>();
  const events = new Map<string, object>();
  const woken: string[] = [];
  const did: unknown[] = [];
  const row = (tenantId: string, state = 'idle', agentId = 'sailor') => ({ tenantId, state, agentId, status: {} });
  const rows: Record<string, object> = {
    conv_1: row('north'),
    conv_south: row('south'),
    conv_closed: row('north', 'closed'),
    conv_other: row('north', 'idle', 'other'),
    conv_broken: row('north', 'idle', 'broken'),
    conv_gone: row('north', 'idle', 'gone'),
    conv_new: row('north'),
    conv_part: { ...row('north'), status: { parent: {} } },
  };
  const timers: PluginTimer[] = [{ timerId: 't', dueMs: 1_500, text: 'high', temporary: true }];
  const store = {
    conversations: {
      get: async (id: string) => rows[id],
      list: async (filter: object) =>
        Object.entries(rows).flatMap(([conversationId, each]) => (isPart(filter, { ...each, limit: 1_000 }) ? [{ conversationId, ...each }] : [])),
    },
    transcript: {
      newestTurn: async (id: string) => (id === 'conv_new' ? undefined : 'turn_2'),
      async append(_id: string, turnId: string, _step: undefined, key: string, { text }: { text: string }) {
        if (!entries.has(key)) entries.set(key, `${turnId} ${text}`);
      },
    },
    events: {
      async append(_id: string, added: { key: string; type: string; data: object }[]) {
        for (const { key, type, data } of added) if (!events.has(key)) events.set(key, { type, ...data });
      },
    },
    pluginTimers: {
      set: async (...given: unknown[]) => (did.push(['set', ...given]), full ? 'full' : 'set'),
      clear: async (...given: unknown[]) => void did.push(['clear', ...given]),
      waiting: async () => timers,
      due: async () => [{ conversationId: 'conv_1', pluginId: 'tides', timerId: 'a', dueMs: 0, text: 'high', turnId: 'turn_2' }],
      wentOff: async ({ timerId }: { timerId: string }) => void did.push(['went off', timerId]),
    },
  };
  const registry = {
    forAgent({ id }: { id: string }) {
      if (id === 'broken') throw new Error('no such tool');
      return id === 'sailor' ? [{ pluginId: 'tides' }] : [{ pluginId: 'waves' }];
    },
  };
  const agents = new Map(['sailor', 'other', 'broken'].map((id) => [id, agent(id)]));
  const wake = async (conversationId: string, wakeId: string) => void woken.push(`${conversationId} ${wakeId}`);
  const desk = {
    async ask({ place, ...question }: { place: () => Promise<object> }): Promise<undefined> {
      did.push(['ask', question, await place()]);
    },
  };
  const answer = createAnswerTask({ store, registry, agents, wake, desk } as never);
  const ask = (conversationId: string, wish: Wish, number = 1): Promise<Json | undefined> =>
    answer({ pluginId: 'tides', tenantId: 'north', id: idOf(number), wish: { ...wish, conversationId } });
  const askAll = (tenantId: string) => answer({ pluginId: 'tides', tenantId, id: idOf(1), wish: { what: 'conversations' } });
  return { ask, askAll, entries, events, woken, did, fire: () => fireTimers({ store, wake } as never), store };
}

test('what a task sends reaches the user and the model once, however often it is asked', async () => {
  const { ask, entries, events } = bench();
  expect(await ask('conv_1', say('one', 'two'))).toBe(true);
  expect(await ask('conv_1', say('one', 'two'))).toBe(true);
  expect([...events.values()]).toEqual([
    { type: 'message.sent', callId: `task-${idOf(1)}`, tool: 'tides', index: 0, part: { type: 'text', text: 'one' } },
    { type: 'message.sent', callId: `task-${idOf(1)}`, tool: 'tides', index: 1, part: { type: 'text', text: 'two' } },
  ]);
  expect([...entries.values()]).toEqual(['turn_2 tides said to the user: one', 'turn_2 tides said to the user: two']);
  await ask('conv_1', say('three'), 2);
  expect(events.size).toBe(3);
});

test('what a task sends is kept without what would be a part of each prompt', async () => {
  const { ask, entries, events } = bench();
  await ask('conv_1', { what: 'send', parts: [{ type: 'image', mediaType: 'n'.repeat(100_000), data: 'AAAA' }] });
  expect([events.size, entries.size]).toEqual([1, 1]);
  expect(JSON.stringify([[...events.values()], [...entries.values()]]).length).toBeLessThan(2_000);
});

test('a note is for the model, and wakes the conversation only when the task wants it', async () => {
  const { ask, entries, events, woken } = bench();
  await ask('conv_1', { what: 'note', text: 'one', wake: false });
  expect(woken).toEqual([]);
  await ask('conv_1', { what: 'note', text: 'two', wake: true }, 2);
  await ask('conv_1', { what: 'note', text: 'two', wake: true }, 2);
  expect([...entries.values()]).toEqual(['turn_2 From tides: one', 'turn_2 From tides: two']);
  expect([...events.values()]).toEqual([
    { type: 'note', text: 'From tides: one' },
    { type: 'note', text: 'From tides: two' },
  ]);
  // The conversation takes the same id once.
  expect(new Set(woken).size).toBe(1);
  expect(woken[0]).toMatch(/^conv_1 task-[0-9a-f]{32}$/);
});

test.each([
  ['conv_unknown', 'there is no conversation "conv_unknown"'],
  ['conv_south', 'there is no conversation "conv_south"'],
  ['conv_closed', 'the conversation "conv_closed" is closed'],
  ['conv_other', 'the agent of the conversation "conv_other" does not have this plugin'],
  ['conv_broken', 'the agent of the conversation "conv_broken" does not have this plugin'],
  ['conv_gone', 'the agent of the conversation "conv_gone" does not have this plugin'],
  ['conv_new', 'the conversation "conv_new" has not begun'],
])('of %s, a task changes and learns nothing', async (conversationId, message) => {
  const { ask, entries, events, woken, did } = bench();
  const timer = { dueMs: 1, text: '', temporary: false };
  const given: Wish[] = [say('one'), { what: 'note', text: 'one', wake: true }, { what: 'set-timer', timer }, { what: 'clear-timers' }, { what: 'timers' }];
  const wishes: Wish[] = [...given, { what: 'model', question: { messages: [], tools: [] } }, { what: 'model-name' }];
  for (const wish of wishes) await expect(ask(conversationId, wish)).rejects.toThrow(message);
  expect([entries.size, events.size, woken, did]).toEqual([0, 0, [], []]);
});

test('a question to the model goes to the desk with the newest turn and the agent, unless the conversation is that of a sub-agent', async () => {
  const { ask, did } = bench();
  const wish: Wish = { what: 'model', question: { messages: [{ role: 'user', text: 'The tide?' }], tools: [] } };
  expect(await ask('conv_1', wish)).toBeUndefined();
  expect(did).toEqual([
    ['ask', { pluginId: 'tides', tenantId: 'north', id: idOf(1), wish: { ...wish, conversationId: 'conv_1' } }, { turnId: 'turn_2', agent: agent('sailor') }],
  ]);
  expect(await ask('conv_1', { what: 'model-name' })).toBe('openai/harbour');
  await expect(ask('conv_part', wish)).rejects.toThrow('the conversation "conv_part" is that of a sub-agent, for which tasks cannot ask the model');
});

test('a task learns of the open conversations of its tenant whose agents have the plugin, and of no others', async () => {
  const { askAll } = bench();
  const [one, latest, part] = ['conv_1', 'conv_new', 'conv_part'].map((conversationId) => ({ conversationId, agentId: 'sailor' }));
  expect(await askAll('north')).toEqual([one, latest, part]);
  expect(await askAll('south')).toEqual([{ conversationId: 'conv_south', agentId: 'sailor' }]);
  expect(await askAll('east')).toEqual([]);
});

test('timers are set under the id of the question, listed in seconds and cleared by their kind', async () => {
  const { ask, did } = bench();
  const timer = { dueMs: 5_000, text: 'low', temporary: false };
  const place = { pluginId: 'tides', conversationId: 'conv_1' };
  expect(await ask('conv_1', { what: 'set-timer', timer })).toBe(true);
  expect(await ask('conv_1', { what: 'timers' })).toEqual([{ id: 't', due: 1, text: 'high', temporary: true }]);
  await ask('conv_1', { what: 'clear-timers', temporary: true });
  await ask('conv_1', { what: 'clear-timers' });
  expect(did).toEqual([
    ['set', place, { ...timer, timerId: `task-${idOf(1)}` }],
    ['clear', place, { temporary: true }],
    ['clear', place, {}],
  ]);
  await expect(bench({ full: true }).ask('conv_1', { what: 'set-timer', timer })).rejects.toThrow(
    'the conversation, or were set there within an hour, which is the limit',
  );
});

test('tasks give a conversation so much an hour, and what is asked again is not counted again', async () => {
  const { ask, events } = bench();
  for (let number = 1; number <= 99; number += 1) await ask('conv_1', say('one'), number);
  const over = 'tasks of a plugin can give 100 messages and notes an hour to a conversation, and these were given';
  await expect(ask('conv_1', say('one', 'two'), 100)).rejects.toThrow(over);
  await ask('conv_1', { what: 'note', text: 'one', wake: false }, 100);
  await expect(ask('conv_1', say('one'), 101)).rejects.toThrow(over);
  expect(await ask('conv_1', say('one'), 5)).toBe(true);
  expect(await ask('conv_1', { what: 'timers' }, 102)).toHaveLength(1);
  expect(events.size).toBe(100);
});

test('an allowance is for an hour, and for each name', () => {
  let now = 0;
  const allowance = createAllowance(2, () => now);
  const take = (name: string, id: string, count: number) => allowance.take(name, id, count);
  expect([take('a', '1', 1), take('a', '2', 2), take('a', '3', 1), take('a', '4', 1), take('b', '1', 2)]).toEqual([true, false, true, false, true]);
  now = 3_600_000;
  expect([take('a', '5', 2), take('a', '6', 1)]).toEqual([true, false]);
  for (let name = 0; name < 2_000; name += 1) take(`n${name}`, '1', 1);
  expect(take('a', '7', 1)).toBe(false);
});

test('a timer that is due becomes a note that wakes its conversation once, also when it was cut off at any place', async () => {
  const { fire, entries, events, woken, did, store } = bench();
  const { wentOff } = store.pluginTimers;
  store.pluginTimers.wentOff = () => Promise.reject(new Error('the database is away'));
  await expect(fire()).rejects.toThrow('the database is away');
  store.pluginTimers.wentOff = wentOff;
  await fire();
  const text = 'From tides: a timer, which was due at 1970-01-01T00:00:00.000Z: high';
  expect([...entries.values()]).toEqual([`turn_2 ${text}`]);
  expect([...events.values()]).toEqual([{ type: 'note', text }]);
  expect([woken.length, new Set(woken).size, did]).toEqual([2, 1, [['went off', 'a']]]);
});

test('a timer of a conversation without any turn goes off without a note', async () => {
  const { fire, entries, woken, did, store } = bench();
  store.pluginTimers.due = async () => [{ conversationId: 'conv_new', pluginId: 'tides', timerId: 'a', dueMs: 0, text: 'high' }] as never;
  await fire();
  expect([entries.size, woken, did]).toEqual([0, [], [['went off', 'a']]]);
});
