import type { ServerAnswer } from '../../../../../src/sandbox/api/host-methods.ts';
import { failure } from '../../../../../src/contracts/errors.ts';
import type { Json } from '../../../../../src/contracts/json.ts';
import { createLogger } from '../../../../../src/platform/log.ts';
import { definePlugin } from '../../../../../src/plugins/api/define-plugin.ts';
import type { ListedTools } from '../../../../../src/plugins/dialects/mcp/offers/listed-tools.ts';
import { createListsOfConversations } from '../../../../../src/plugins/dialects/mcp/lists-of-conversations.ts';
import { versionOf } from '../../../../../src/plugins/dialects/mcp/server-plugin.ts';

const one = { conversationId: 'conv_1', userId: 'u', tenantId: 't', agentId: 'a' };
const common: ListedTools = { version: '1', tools: [{ name: 'count' }] };
const pluginWith = (listed: ListedTools) => definePlugin({ id: 'tally', version: versionOf(listed), tools: [] });

let shelves: Map<string, Json>;
let mark: string | undefined;
let tools: unknown[];
let asked: number;
let answer: () => ServerAnswer;
/** A worker of its own: what one has read another has to read as well. */
const worker = () =>
  createListsOfConversations({
    name: 'tally',
    program: () => ({ name: 'tally', command: 'tally', args: [], env: {} }),
    common: () => pluginWith(common),
    withTools: pluginWith,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    store: {
      async entry(shelf) {
        const value = shelves.get(JSON.stringify(shelf));
        return value === undefined ? undefined : { value, version: 1 };
      },
      async set(shelf, key, value) {
        if (JSON.stringify(value).length > 10_000) throw failure('PLUGIN_STORE_REFUSED', { plugin: 'tally', key, problem: 'it is too long', fix: 'Cut it' });
        shelves.set(JSON.stringify(shelf), value);
        return 'created';
      },
    },
  });
const sandbox = {
  serverMark: async () => mark,
  forget: async () => undefined,
  async callServer() {
    asked += 1;
    return answer();
  },
};
const look = () => worker().lookInto(one, sandbox, async () => undefined);
const versionIn = async (conversation = one) => (await worker().inConversation(conversation))?.version;

beforeEach(() => {
  [shelves, mark, tools, asked] = [new Map(), '', [{ name: 'count' }, { name: 'more' }], 0];
  answer = () => ({ outcome: 'answered', result: { tools } as Record<string, Json>, server: { name: 's', version: '1' } });
});

test('a server that has said nothing, or does not run, is not asked', async () => {
  await look();
  mark = undefined;
  await look();
  expect([asked, await versionIn()]).toEqual([0, undefined]);
});

test('a server that has said that its tools have changed is asked once, for that conversation alone', async () => {
  mark = 'first';
  await look();
  await look();
  expect(asked).toBe(1);
  expect(await versionIn()).toBe(versionOf({ version: '1', tools }));
  expect(await versionIn({ ...one, conversationId: 'conv_2' })).toBeUndefined();
  expect(await versionIn({ ...one, tenantId: 'other' })).toBeUndefined();
});

test('a server that has again what everybody has is as everywhere', async () => {
  mark = 'first';
  await look();
  [mark, tools] = ['second', common.tools];
  await look();
  expect(await versionIn()).toBeUndefined();
});

test('a server that does not tell its tools, or too many, keeps those that it had, and is asked again after its next change', async () => {
  mark = 'first';
  await look();
  const before = await versionIn();
  [mark, answer] = ['second', () => ({ outcome: 'gone', why: 'it ended' })];
  await look();
  await look();
  expect([asked, await versionIn()]).toEqual([2, before]);
  mark = 'third';
  answer = () => ({ outcome: 'answered', result: { tools: [{ name: 'x'.repeat(20_000) }] }, server: { name: 's', version: '1' } });
  await look();
  expect([asked, await versionIn()]).toEqual([3, before]);
});
