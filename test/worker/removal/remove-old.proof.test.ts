import { WorkflowNotFoundError } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { failure } from '../../../src/contracts/errors.ts';
import type { RemovalParts } from '../../../src/worker/removal/remove-conversation.ts';
import { removeOld } from '../../../src/worker/removal/remove-old.ts';
import { newCall, newConversation, newId, openTestStore, silent, statusOf } from '../../store/support.ts';

let stack: Awaited<ReturnType<typeof openTestStore>>;
beforeEach(async () => {
  stack = await openTestStore();
});
afterEach(async () => stack[Symbol.asyncDispose]());

/** Workflows by conversation; those not named do not exist any more. `failing`: the step before which the process dies. */
function setUp({ alive = [], failing, destroy }: { alive?: string[]; failing?: string; destroy?: (sandboxId: string) => Promise<void> } = {}) {
  const { store } = stack;
  const step =
    <Args extends unknown[], Result>(name: string, work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (name === failing) throw new Error('killed');
      return work(...args);
    };
  const destroyRow = async (sandboxId: string) => {
    const row = (await store.sandboxes.get(sandboxId))!;
    await store.sandboxes.change(sandboxId, row.generation, { state: 'destroyed' });
  };
  const parts = {
    store: {
      sandboxes: { ...store.sandboxes, ofConversation: step('look', (id: string) => store.sandboxes.ofConversation(id)) },
      removal: { ...store.removal, finish: step('finish', (id: string) => store.removal.finish(id)) },
    },
    sandboxes: { destroy: step('destroy', destroy ?? destroyRow) },
    workflows: {
      getHandle: (id: string) => ({
        describe: step('describe', async () => {
          if (alive.includes(id)) return { status: { name: 'RUNNING' } };
          throw new WorkflowNotFoundError('none', id, undefined);
        }),
      }),
    },
    log: silent,
  } as unknown as RemovalParts;
  return (keepMs?: number) => removeOld(parts, keepMs, new AbortController().signal);
}

/** A closed conversation with something in each table. */
async function closedWithSandbox(overrides: Parameters<typeof newConversation>[1] = {}): Promise<{ id: string; sandboxId: string }> {
  const { store } = stack;
  const id = await newConversation(store, overrides);
  await store.messages.put(id, 'msg_1', 'Ahoy.');
  await store.media.keep(id, { data: Buffer.from('Ahoy.'), name: 'a.txt' }, 'message');
  await newCall(store, id);
  await store.transcript.append(id, 'turn_1', undefined, 'key', { role: 'user', text: 'Ahoy.', messageId: 'msg_1' } as never);
  await store.pluginStore.set({ pluginId: 'tides', tenantId: 'default', conversationId: id }, 'key', 'value');
  const sandboxId = newId('sbx');
  const names = { containerName: sandboxId, volumeName: sandboxId };
  await store.sandboxes.ensure({ sandboxId, conversationId: id, tenantId: 'default', state: 'running', hostId: 'host-1', ...names, options: {} });
  await store.samples.add([{ sandboxId, cpuMs: 1, memoryBytes: 1, processes: 1 }], { apartMs: 0 });
  await store.conversations.close(id, {});
  await sleep(20);
  return { id, sandboxId };
}

const exists = async (id: string) => (await stack.store.conversations.get(id)) !== undefined;

test('closed conversations are removed after their time with all that belonged to them, open ones and younger ones never', async () => {
  const old = await closedWithSandbox();
  const memory = { tenantId: 'default', scope: 'user', owner: 'user-1' } as const;
  await stack.store.memory.write(memory, { path: 'a.md', content: 'Kept.', version: 0, by: { kind: 'conversation', id: old.id } });
  const open = await newConversation(stack.store);
  expect(await setUp()(undefined)).toEqual([]);
  expect(await setUp()(60_000)).toEqual([]);
  expect(await setUp()(10)).toEqual([old.id]);
  expect([await exists(old.id), await exists(open)]).toEqual([false, true]);
  expect(await stack.store.sandboxes.get(old.sandboxId)).toBeUndefined();
  expect(await stack.store.samples.newest(old.sandboxId)).toBeUndefined();
  expect(await stack.store.messages.get(old.id, 'msg_1')).toBeUndefined();
  expect(await stack.store.media.list(old.id)).toEqual([]);
  expect(await stack.store.events.read(old.id, 0)).toEqual([]);
  // What it has noted outlives it, with its name.
  expect(await stack.store.memory.read(memory, 'a.md')).toMatchObject({ content: 'Kept.', by: { id: old.id } });
  await expect(stack.store.messages.put(old.id, 'msg_2', 'Still there?')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test("a tenant's own retention goes before that of the workers", async () => {
  const { store } = stack;
  const [kept, short, usual] = [
    await closedWithSandbox({ tenantId: 'archive' }),
    await closedWithSandbox({ tenantId: 'short' }),
    await closedWithSandbox({ tenantId: 'usual' }),
  ];
  await store.removal.setRetention('archive', null);
  await store.removal.setRetention('short', 10);
  expect(await store.removal.retentions()).toEqual([
    { tenantId: 'archive', keepMs: null },
    { tenantId: 'short', keepMs: 10 },
  ]);
  expect(await setUp()(undefined)).toEqual([short.id]);
  expect(await setUp()(10)).toEqual([usual.id]);
  await store.removal.setRetention('archive', undefined);
  expect(await setUp()(10)).toEqual([kept.id]);
});

test.each(['describe', 'look', 'destroy', 'finish'])('a removal that dies before "%s" is finished by the next round', async (failing) => {
  const { id, sandboxId } = await closedWithSandbox();
  expect(await setUp({ failing })(10).catch(() => [])).toEqual([]);
  expect(await exists(id)).toBe(true);
  // Even where conversations are kept meanwhile: what is begun is not left in parts.
  expect(await setUp()(undefined)).toEqual([id]);
  expect([await exists(id), await stack.store.sandboxes.get(sandboxId)]).toEqual([false, undefined]);
});

test('a conversation whose workflow runs is kept, and so is its sandbox', async () => {
  const { id, sandboxId } = await closedWithSandbox();
  expect(await setUp({ alive: [id] })(10)).toEqual([]);
  expect((await stack.store.sandboxes.get(sandboxId))?.state).toBe('running');
  expect(await stack.store.removal.begun(10)).toEqual([]);
  expect(await exists(id)).toBe(true);
});

test('a start with the id of an old conversation keeps it, and one that comes while it is removed is told to wait', async () => {
  const { store } = stack;
  const { id } = await closedWithSandbox();
  const again = () => store.conversations.create({ ...statusOf(id), status: statusOf(id) });
  await again();
  expect(await setUp()(60_000)).toEqual([]);
  await store.removal.begin(id);
  await expect(again()).rejects.toMatchObject({ code: 'CONVERSATION_REMOVING' });
  expect(await setUp()(undefined)).toEqual([id]);
  await again();
  expect((await store.conversations.get(id))?.state).toBe('idle');
});

test('a sandbox that another conversation has taken over is not destroyed, and one of a conversation that is removed cannot be taken over', async () => {
  const { store } = stack;
  const [taken, free] = [await closedWithSandbox(), await closedWithSandbox()];
  const other = await newConversation(store);
  expect(await store.sandboxes.adopt(taken.sandboxId, 'default', other)).toMatchObject({ conversationId: other });
  await store.removal.begin(free.id);
  expect(await store.sandboxes.adopt(free.sandboxId, 'default', await newConversation(store))).toBeUndefined();
  expect((await setUp()(10)).toSorted()).toEqual([taken.id, free.id].toSorted());
  expect(await store.sandboxes.get(taken.sandboxId)).toMatchObject({ state: 'running', conversationId: other });
  expect(await store.sandboxes.get(free.sandboxId)).toBeUndefined();
});

test('a conversation whose sandbox is on another host waits for the worker there', async () => {
  const { id, sandboxId } = await closedWithSandbox();
  const destroy = async () => Promise.reject(failure('SANDBOX_UNREACHABLE', { sandboxId, problem: 'it is on another host' }));
  expect(await setUp({ destroy })(10)).toEqual([]);
  expect(await exists(id)).toBe(true);
  expect(await setUp()(undefined)).toEqual([id]);
});

test('workers that do this at the same time remove each conversation once', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 25; index += 1) ids.push(await newConversation(stack.store, { state: 'closed' }));
  await sleep(20);
  const rounds = await Promise.all([setUp()(10), setUp()(10), setUp()(10)]);
  expect(rounds.flat().toSorted()).toEqual(ids.toSorted());
});

/** The tables of the database that have a text somewhere. */
async function tablesWith(text: string): Promise<string[]> {
  const client = new Client(stack.url);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1",
    );
    const found = await Promise.all(
      rows.map(async ({ name }) => {
        const { rows: all } = await client.query<{ has: boolean }>(
          `select exists (select from "${name}" as one where one::text like '%' || $1 || '%') as has`,
          [text],
        );
        return all[0]?.has ? [name] : [];
      }),
    );
    return found.flat();
  } finally {
    await client.end();
  }
}

const EVER = { from: '1970-01-01T00:00:00.000Z', to: '9990-01-01T00:00:00.000Z' };

test('what model calls used and cost outlives their conversations, by day; an erasure takes the name of the user out of it, and nothing else has the name', async () => {
  const { store } = stack;
  const [tenantId, userId] = ['census', 'canary-user'];
  const used = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 };
  const conversations = await Promise.all(Array.from({ length: 3 }, () => closedWithSandbox({ tenantId, userId })));
  for (const [at, { id }] of conversations.entries()) {
    for (const [step, costUsd] of [0.25, null].entries()) {
      const place = { conversationId: id, turnId: 'turn_1', stepId: `step_${at}_${step}` };
      await store.transcript.addAnswer(place, { role: 'assistant', parts: [{ type: 'text', text: 'Hi' }], usage: { ...used, costUsd } }, 'a/b');
    }
  }
  await store.pluginStore.set({ pluginId: 'tides', tenantId, userId }, 'key', 'value');
  const [before, lines] = [await store.usage.total({ ...EVER, tenantId }), await store.usage.lines({ ...EVER, tenantId }, { group: 'agent', limit: 9 })];
  expect(before).toMatchObject({ calls: 6, inputTokens: 60, cacheReadTokens: 24, knownCostUsd: 0.75, unpricedCalls: 3 });

  expect((await setUp()(10)).toSorted()).toEqual(conversations.map(({ id }) => id).toSorted());
  expect(await store.usage.total({ ...EVER, tenantId })).toEqual(before);
  expect(await store.usage.lines({ ...EVER, tenantId }, { group: 'agent', limit: 9 })).toEqual(lines);
  expect(await store.usage.lines({ ...EVER, tenantId }, { group: 'user', limit: 9 })).toEqual([expect.objectContaining({ key: userId, tenantId, calls: 6 })]);
  expect(await store.usage.lines({ ...EVER, tenantId }, { group: 'conversation', limit: 9 })).toEqual([expect.objectContaining({ key: '', calls: 6 })]);
  expect(await store.usage.total({ ...EVER, tenantId: 'another' })).toMatchObject({ calls: 0 });
  for (const { id } of conversations) expect(await tablesWith(id)).toEqual([]);
  expect(await tablesWith(userId)).toEqual(['plugin_store', 'usage_days']);

  expect(await store.removal.removeUserEntries(tenantId, userId)).toBe(1);
  expect(await store.removal.removeUserEntries(tenantId, userId)).toBe(0);
  expect(await tablesWith(userId)).toEqual([]);
  expect(await store.usage.total({ ...EVER, tenantId })).toEqual(before);
  expect(await store.usage.lines({ ...EVER, tenantId }, { group: 'user', limit: 9 })).toEqual([expect.objectContaining({ key: '', calls: 6 })]);
}, 60_000);
