import type { Agent } from '../../../src/contracts/agent.ts';
import type { ConversationState } from '../../../src/contracts/conversation.ts';
import type { ParentSandbox } from '../../../src/contracts/sub-agents/sandbox-use.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import type { Store } from '../../../src/store/store.ts';
import { createConversationSandboxes } from '../../../src/tool-calls/run/sandbox-of-conversation.ts';
import { serversIn } from '../../../src/tool-calls/run/servers-in-sandbox.ts';

const child = { conversationId: 'conv_child', tenantId: 'tenant', agentId: 'worker' };

/** A sub-agent, and which sandboxes are opened for it with which options. */
function setUp(sandbox?: ParentSandbox) {
  const opens: object[] = [];
  const fits: object[] = [];
  const owner = { conversationId: 'conv_parent', agentId: 'boss' };
  const parent: { state: ConversationState | undefined } = { state: 'running' };
  const store = {
    conversations: { stateOf: async () => parent.state },
    sandboxUses: { of: async (id: string) => (id === 'conv_child' && sandbox ? { sandbox, ...('conversationId' in sandbox && { owner }) } : undefined) },
    sandboxes: { get: async () => undefined, ofConversation: async () => undefined },
  } as unknown as Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  const sandboxes = {
    async open({ sandboxId }: { sandboxId: string }, { image }: { image: string }) {
      opens.push([sandboxId, image]);
      return { handle: { endServers: async () => undefined } };
    },
    checkFits: async ({ sandboxId }: { sandboxId: string }, { image }: { image: string }) => void fits.push([sandboxId, image]),
  } as unknown as Sandboxes;
  const agents = new Map(['boss', 'worker'].map((id) => [id, { sandbox: { image: `image of ${id}` } } as unknown as Agent]));
  return { opens, fits, parent, opened: createConversationSandboxes({ sandboxes, store, agents }) };
}

const shared = { conversationId: 'conv_parent' };

test.each<[string, ParentSandbox | undefined, unknown]>([
  ['of its own', undefined, ['sbx_child', 'image of worker']],
  ['that is a copy', { use: 'fork' }, ['sbx_child', 'image of worker']],
  ['that it shares', { use: 'shared', ...shared }, ['sbx_parent', 'image of boss']],
])('a sub-agent uses a sandbox %s, with the options of the agent that it belongs to', async (_what, sandbox, expected) => {
  const { opens, fits, opened } = setUp(sandbox);
  // Whether this host may have it is asked of the same one.
  await opened.checkFits(child);
  await opened.open(child, 'shell:run');
  expect([opens, fits]).toEqual([[expected], [expected]]);
});

test.each<[ParentSandbox, string, string]>([
  [{ use: 'none' }, 'shell:run', 'shell:run cannot use a sandbox: this agent was given its task so that it works without a sandbox.'],
  [{ use: 'none' }, 'files:read', 'files:read cannot use a sandbox: this agent was given its task so that it works without a sandbox.'],
  ...['shell:run', 'shell:logs', 'code:run', 'files:write', 'files:edit', 'other:read'].map((tool): [ParentSandbox, string, string] => [
    { use: 'shared-read-only', ...shared },
    tool,
    `${tool} cannot use a sandbox: this agent was given its task so that it may only read the files of the sandbox that it shares.`,
  ]),
])('with %j, a call of %s is refused, whoever has offered the tool', async (sandbox, tool, message) => {
  const { opens, opened } = setUp(sandbox);
  await expect(opened.open(child, tool)).rejects.toMatchObject({ code: 'SANDBOX_REFUSED', message });
  expect(opens).toEqual([]);
});

test.each(['files:read', 'files:list', 'files:search'])('a sandbox that is shared to be read is opened for %s', async (tool) => {
  const { opens, opened } = setUp({ use: 'shared-read-only', ...shared });
  await opened.open(child, tool);
  expect(opens).toEqual([['sbx_parent', 'image of boss']]);
});

test('servers of all who share a sandbox go on in it, and no others', () => {
  const agent = (mcp: string, uses: Record<string, 'shared' | 'own'>) =>
    ({
      mcp: { [mcp]: {} },
      agents: Object.fromEntries(Object.entries(uses).map(([id, sandbox]) => [id, { agent: id, sandbox }])),
    }) as unknown as Agent;
  const agents = new Map([
    ['top', agent('one', { middle: 'shared', apart: 'own' })],
    ['middle', agent('two', { bottom: 'shared', top: 'shared' })],
    ['bottom', agent('three', {})],
    ['apart', agent('four', {})],
  ]);
  expect(serversIn(agents, 'top')).toEqual(['one', 'two', 'three']);
  expect(serversIn(agents, 'apart')).toEqual(['four']);
});

test.each(['closed', undefined] as const)('nothing is made or woken for the conversation that a sandbox belongs to when that is %s', async (state) => {
  const { opens, opened, parent } = setUp({ use: 'shared', ...shared });
  await opened.open(child, 'shell:run');
  parent.state = state;
  await expect(opened.open(child, 'shell:run')).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  expect(opens).toHaveLength(1);
});
