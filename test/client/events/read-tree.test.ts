import { array, assert, asyncProperty, nat, record } from 'fast-check';
import { readStoredTree, readTree, startOfTree, type TreeEvent } from '../../../src/client/events/read-tree.ts';
import { placeOf } from '../../../src/client/events/tree-cursor.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';
import type { ConversationRow } from '../../../src/store/store.ts';

const ROOT = 'conv_root';

/** Logs of conversations that grow while they are read. */
function createLogs() {
  const logs = new Map<string, ConversationEvent[]>([[ROOT, []]]);
  const parents = new Map<string, string>();
  const listeners = new Set<() => void>();
  const append = (conversationId: string, type: string, data: object = {}) => {
    const log = logs.get(conversationId) ?? [];
    logs.set(conversationId, log);
    log.push({ seq: log.length + 1, at: '', conversationId, type, data } as unknown as ConversationEvent);
    for (const listener of listeners) listener();
  };
  const pathOf = (id: string): string[] => (parents.has(id) ? [...pathOf(parents.get(id) ?? ''), parents.get(id) ?? ''] : []);
  const store = {
    conversations: {
      get: async (id: string) => (logs.has(id) ? ({ conversationId: id, status: { parent: { path: pathOf(id) } } } as unknown as ConversationRow) : undefined),
    },
    events: {
      read: async (id: string, after: number) => (logs.get(id) ?? []).slice(after, after + 2),
      async *news(id: string, signal: AbortSignal) {
        for (;;) {
          let wake = () => {};
          const woken = new Promise<void>((resolve) => (wake = resolve));
          listeners.add(wake);
          signal.addEventListener('abort', wake, { once: true });
          yield;
          await woken;
          listeners.delete(wake);
          if (signal.aborted || !logs.has(id)) return;
        }
      },
    },
  };
  return {
    logs,
    store,
    append,
    remove: (id: string) => {
      logs.delete(id);
      for (const listener of listeners) listener();
    },
    start: (parent: string, child: string) => {
      parents.set(child, parent);
      logs.set(child, []);
      append(parent, 'agent.started', { conversationId: child });
    },
  };
}

/** Reads on from a place, up to so many events. */
async function readOn(store: ReturnType<typeof createLogs>['store'], after: string | undefined, most: number): Promise<TreeEvent[]> {
  const leaving = new AbortController();
  const seen: TreeEvent[] = [];
  for await (const event of readTree(store, await startOfTree(store, ROOT, after), leaving.signal)) {
    seen.push(event);
    if (seen.length === most) break;
  }
  return seen;
}

test('a sub-agent that was removed, with its last event unread, keeps no reader from the events of the others, nor from the end', async () => {
  const { store, append, remove, start } = createLogs();
  const leaving = new AbortController();
  const seen: string[] = [];
  for (const id of ['conv_1', 'conv_2']) start(ROOT, id);
  for await (const { conversationId, type } of readTree(store, await startOfTree(store, ROOT, undefined), leaving.signal)) {
    seen.push(`${conversationId} ${type}`);
    if (seen.length === 2) {
      remove('conv_1');
      setImmediate(() => {
        append('conv_2', 'conversation.closed');
        append(ROOT, 'conversation.closed');
      });
    }
  }
  expect(seen.toSorted()).toEqual(['conv_2 conversation.closed', `${ROOT} agent.started`, `${ROOT} agent.started`, `${ROOT} conversation.closed`]);
});

test('a reader that is cut anywhere gets every event of every conversation once, in order, and none of a sub-agent before it was started', async () => {
  const step = record({ who: nat(20), starts: nat(3), cut: nat(6) });
  const isExact = asyncProperty(array(step, { maxLength: 40 }), array(nat(5), { minLength: 1, maxLength: 10 }), async (steps, cuts) => {
    const { logs, store, append, start } = createLogs();
    const seen: TreeEvent[] = [];
    const write = async () => {
      for (const { who, starts } of steps) {
        const open = [...logs].filter(([, log]) => log.at(-1)?.type !== 'conversation.closed').map(([id]) => id);
        const id = open[who % Math.max(open.length, 1)];
        if (id === undefined) return;
        if (starts === 0 && logs.size < 6) start(id, `conv_${logs.size}`);
        else if (starts === 1 && id !== ROOT) append(id, 'conversation.closed');
        else append(id, 'note');
        await Promise.resolve();
      }
      for (const [id, log] of logs) if (log.at(-1)?.type !== 'conversation.closed') append(id, 'conversation.closed');
    };
    const writing = write();
    for (let round = 0; ; round += 1) {
      const found = await readOn(store, seen.at(-1)?.cursor, (cuts[round % cuts.length] ?? 0) + 1);
      seen.push(...found);
      if (seen.at(-1)?.cursor === 'ended') break;
    }
    await writing;
    for (const [id, log] of logs) expect(seen.filter((event) => event.conversationId === id).map(({ seq }) => seq)).toEqual(log.map(({ seq }) => seq));
    for (const [id] of logs) {
      if (id === ROOT) continue;
      const started = seen.findIndex(({ type, data }) => type === 'agent.started' && data.conversationId === id);
      expect(started).toBeLessThan(seen.findIndex((event) => event.conversationId === id));
    }
    expect(await readOn(store, 'ended', 1)).toEqual([]);
    const stored: TreeEvent[] = [];
    for await (const event of readStoredTree(store, new Map([[ROOT, 0]]), new AbortController().signal)) stored.push(event);
    const names = (events: TreeEvent[]) => events.map(({ conversationId, seq }) => `${conversationId} ${seq}`).toSorted();
    expect(names(stored)).toEqual(names(seen));
  });
  await assert(isExact, { numRuns: 200 });
});

test('a place is one of this tree', async () => {
  const { logs, store, start } = createLogs();
  start(ROOT, 'conv_child');
  logs.set('conv_other', []);
  expect(await startOfTree(store, ROOT, 'conv_child:3,conv_root:1')).toEqual(
    new Map([
      ['conv_child', 3],
      ['conv_root', 1],
    ]),
  );
  for (const cursor of ['conv_other:1', 'conv_nobody:1', 'conv_root', 'conv_root:x', 'conv_root:1,,', '', '\u001b[31m:1', 'conv_root:1,conv_root:2']) {
    const message = `the place in the tree: ${JSON.stringify(cursor)} is none. Give the cursor of an event of this tree, as it was, or none to begin at the first event`;
    await expect(startOfTree(store, ROOT, cursor)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(message.slice(-60)) });
  }
  expect(() => placeOf(Array.from({ length: 100_000 }, (_, index) => `c${index}:1`).join(','))).toThrow('the place in the tree');
  await expect(startOfTree(store, 'conv_nobody', undefined)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a reader that leaves while nothing happens ends at once', async () => {
  const { store } = createLogs();
  const leaving = new AbortController();
  const reading = readTree(store, new Map([[ROOT, 0]]), leaving.signal).next();
  leaving.abort();
  expect(await reading).toEqual({ done: true, value: undefined });
});
