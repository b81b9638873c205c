import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';
import type { StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { availableTools, promptTexts } from '../../../src/plugins/offer/available-tools.ts';
import { createToolsPlugin } from '../../../src/plugins/builtin/tools.ts';
import { definePlugin, type Plugin, type PluginDefinition, type ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistry, type Registry } from '../../../src/plugins/registry/registry.ts';
import { showTools } from '../../../src/plugins/offer/show-tools.ts';
import { echoTool } from '../tools.ts';

const conversation = { conversationId: 'conv_1', userId: 'user', tenantId: 'tenant', agentId: 'fixer' };
const readOnly = { annotations: { readOnlyHint: true } };

function registryOf(...plugins: PluginDefinition[]): Registry {
  const search = createToolsPlugin(async () => registry.tools);
  const registry: Registry = createRegistry([...plugins.map(definePlugin), search]);
  return registry;
}

const crowd = registryOf(
  { id: 'files', tools: [echoTool('read')] },
  {
    id: 'weather',
    tools: [echoTool('lookup', { description: 'Current weather of a city.\nMore about it.' }), echoTool('alert', { brief: 'Storms', visibility: 'deferred' })],
  },
  { id: 'secret', tools: [echoTool('back', { visibility: 'hidden' })] },
  { id: 'chart', brief: 'Draws charts', tools: [echoTool('bar', { visibility: 'deferred' }), echoTool('pie', { visibility: 'deferred' })] },
);

function show(transcript: TranscriptEntry[] = [], deferTools = { over: 3, pin: ['files:*'] }) {
  const stored = transcript.map((entry, index): StoredEntry => ({ seq: index + 1, turnId: 'turn_1', at: '', entry }));
  const { tools, briefs } = showTools({ registry: crowd, available: crowd.tools, deferTools, transcript: stored });
  return { ids: tools.map(({ id }) => id), briefs };
}

async function search(query: string, limit = 5): Promise<TranscriptEntry & { role: 'tool' }> {
  const result = await crowd.get('tools:search')!.execute({ query, limit }, conversation as ToolContext);
  return { role: 'tool', callId: 'call_1', tool: 'tools:search', content: [{ type: 'text', text: JSON.stringify(result) }], isError: false };
}

describe('with more tools than the threshold', () => {
  test('only pinned tools and the search are shown, the rest by a line each, and a sleeping plugin by one line', () => {
    const { ids, briefs } = show();
    expect(ids).toEqual(['files:read', 'tools:search']);
    expect(briefs).toBe(
      'There are more tools than are shown. Find them with tool_search; those it finds can be called from your next step on.\n' +
        '- chart (2 tools): Draws charts\n- weather:alert: Storms\n- weather:lookup: Current weather of a city.',
    );
  });

  test('a tool that was found is shown from then on, and wakes its plugin where that sleeps as a whole', async () => {
    expect(show([await search('weather of a city', 1)]).ids).toEqual(['files:read', 'weather:lookup', 'tools:search']);
    expect(show([await search('chart:pie')]).ids).toEqual(['chart:bar', 'chart:pie', 'files:read', 'tools:search']);
  });

  test('a tool that was called without being looked for is shown from then on', () => {
    const called: TranscriptEntry = { role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_1', tool: 'weather:alert', arguments: {} }] };
    expect(show([called]).ids).toContain('weather:alert');
  });

  test('a search that failed, and a tool that only looks like one, wake nothing', async () => {
    const found = await search('weather');
    expect(show([{ ...found, isError: true }]).ids).toEqual(['files:read', 'tools:search']);
    expect(show([{ ...found, tool: 'files:read' }]).ids).toEqual(['files:read', 'tools:search']);
  });
});

test('with fewer tools only those are deferred that say so, and without any the search is not shown', () => {
  expect(show([], { over: 40, pin: [] }).ids).toEqual(['files:read', 'weather:lookup', 'tools:search']);
  expect(show([], { over: 40, pin: ['*'] })).toEqual({
    ids: ['chart:bar', 'chart:pie', 'files:read', 'weather:alert', 'weather:lookup'],
    briefs: undefined,
  });
});

test('a search gives whole schemas, the best first, and never what is hidden', async () => {
  const { content } = await search('the current weather');
  const result = JSON.parse(content[0]?.type === 'text' ? content[0].text : '') as { found: string[]; tools: object[] };
  expect(result.found).toEqual(['weather:lookup', 'weather:alert']);
  expect(result.tools[0]).toEqual({ id: 'weather:lookup', name: 'weather__lookup', description: expect.any(String), parameters: { type: 'object' } });
  expect((await search('back')).content).toMatchObject([{ text: expect.stringContaining('Nothing fits') }]);
});

test('a search finds five tools, or as many as it is told to', async () => {
  const many = registryOf({ id: 'many', tools: Array.from({ length: 7 }, (_, index) => echoTool(`echo-${index}`)) });
  const found = async (input: object) =>
    ((await many.get('tools:search')!.execute({ query: 'echoes', ...input }, conversation as ToolContext)) as { found: string[] }).found.length;
  expect([await found({}), await found({ limit: 20 })]).toEqual([5, 7]);
});

describe('what may be called in a conversation', () => {
  const problems: string[] = [];
  const onProblem = ({ id }: Plugin, error: unknown) => void problems.push(`${id}: ${(error as Error).message}`);
  const agent = defineAgent({
    id: 'fixer',
    model: 'openai/x',
    tools: ['files:*', 'weather:*', 'notes:*'],
    approval: [{ tool: 'weather:alert', decide: 'ask' }],
  });
  const registry = registryOf(
    { id: 'files', tools: [echoTool('read', readOnly), echoTool('write')], selectTools: async () => Promise.reject(new Error('no list today')) },
    { id: 'weather', tools: [echoTool('lookup', readOnly), echoTool('alert', readOnly)], promptText: async () => 'Weather is in Celsius.' },
    { id: 'notes', tools: [echoTool('add', readOnly), echoTool('list', readOnly)], selectTools: async () => ['list'], promptText: async () => '' },
  );
  const ask = (unattended: boolean) => availableTools({ registry, agent, conversation, unattended, onProblem });

  test('is what the agent has, less what the plugins leave out of it; one that fails offers nothing and is reported', async () => {
    const tools = await ask(false);
    expect(tools.map(({ id }) => id)).toEqual(['notes:list', 'weather:alert', 'weather:lookup', 'tools:search']);
    expect(problems).toEqual(['files: no list today']);
    await expect(promptTexts({ registry, conversation, onProblem }, tools)).resolves.toEqual(['Weather is in Celsius.']);
  });

  test('comes with texts of plugins for the instructions, of which one that is too long says what it lacks', async () => {
    const found: string[] = [];
    const long = registryOf({ id: 'long', tools: [echoTool('read', readOnly)], promptText: async () => `begin${'x'.repeat(5_000_000)}end` });
    const tools = await availableTools({
      registry: long,
      agent: defineAgent({ id: 'a', model: 'openai/x', tools: ['long:*'] }),
      conversation,
      unattended: false,
      onProblem,
    });
    const [text = ''] = await promptTexts(
      { registry: long, conversation, onProblem: ({ id }, error) => void found.push(`${id}: ${(error as Error).message}`) },
      tools,
    );
    expect(text).toMatch(/^beginx+ …cut, 4900008 more characters… x+end$/);
    expect(text.length).toBeLessThan(100_100);
    expect(found).toEqual(['long: its text for the instructions has 5000008 characters; the middle is left out, since more than 100000 are too many']);
  });

  test('is in an unattended conversation only what reads and needs no approval', async () => {
    expect((await ask(true)).map(({ id }) => id)).toEqual(['notes:list', 'weather:lookup', 'tools:search']);
  });
});
