import { alertsOf } from '../../../src/plugins/api/plugin-details.ts';
import { z } from 'zod';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { definePlugin, defineTool, type Plugin, type PluginDefinition, type Tool, type ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { echoTool } from '../tools.ts';

const context = {} as ToolContext;

function problemOf(definition: unknown): string {
  try {
    definePlugin(definition as PluginDefinition);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

test('a tool with zod parameters shows a JSON Schema and gets its defaults filled in', async () => {
  const tool = defineTool({
    id: 'lookup',
    description: 'Weather',
    parameters: z.object({ city: z.string(), unit: z.enum(['C', 'F']).default('C') }),
    execute: async ({ city, unit }) => `${city} in ${unit}`,
  });
  expect(tool.parameters).toMatchObject({ type: 'object', required: ['city'], properties: { city: { type: 'string' }, unit: { enum: ['C', 'F'] } } });
  await expect(tool.execute({ city: 'Oslo' }, context)).resolves.toBe('Oslo in C');
});

test('a tool is a host tool that takes a minute and asks nothing of its own, unless it says otherwise', () => {
  expect(echoTool('echo')).toMatchObject({ kind: 'tool', isolation: 'host', timeoutMs: 60_000, annotations: {}, requireApproval: undefined });
});

test('what only zod can check is refused when the tool runs, naming the path', async () => {
  const even = z.object({ count: z.number().refine((value) => value % 2 === 0, 'has to be even') });
  const tool = defineTool({ id: 'pairs', description: 'Pairs', parameters: even, execute: async () => 'done' });
  await expect(tool.execute({ count: 3 }, context)).rejects.toMatchObject({ code: 'TOOL_ARGUMENTS_INVALID', values: { problems: '/count: has to be even' } });
});

test('refinements and transforms of zod may be asynchronous', async () => {
  const free = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') });
  const tool = defineTool({ id: 't', description: 'Takes a name', parameters: free, execute: async ({ name }) => name });
  await expect(tool.execute({ name: 'new' }, context)).resolves.toBe('new');
  await expect(tool.execute({ name: 'taken' }, context)).rejects.toThrow('/name: is taken');
});

test('zod parameters that JSON cannot say are refused, naming the tool and a way out', () => {
  const define = (): Tool => defineTool({ id: 'when', description: 'When', parameters: z.object({ at: z.date() }), execute: async () => 'done' });
  expect(define).toThrow(/Plugin of tool "when": its zod parameters have no JSON Schema .* z\.iso\.datetime/);
});

test('definePlugin applied to a plugin gives an equal one', () => {
  const plugin: Plugin = definePlugin({ id: 'weather', tools: [echoTool('lookup')] });
  expect(definePlugin(plugin)).toEqual(plugin);
  expect(plugin).toMatchObject({ version: '0.0.0', description: '' });
});

describe('a plugin that cannot be used is refused with the plugin, the problem and the fix', () => {
  test.each<[string, unknown, RegExp]>([
    ['an id with a space', { id: 'The weather', tools: [] }, /Plugin "The weather": the id "The weather" is not usable\. Use a letter, then letters/],
    ['no id', { tools: [] }, /Plugin \(without id\): the id is missing/],
    ['an id with a colon', { id: 'a:b', tools: [] }, /Plugin "a:b"/],
    ['no tools', { id: 'weather' }, /"tools" is not a list\. Give it as/],
    ['a tool id with a space', { id: 'weather', tools: [echoTool('look up')] }, /the tool id "look up" is not usable/],
    ['two tools of one id', { id: 'weather', tools: [echoTool('a'), echoTool('a')] }, /two tools have the id "a"\. Rename one/],
    ['a tool without a description', { id: 'weather', tools: [echoTool('a', { description: ' ' })] }, /tool "a" has no description/],
    ['parameters that are no object', { id: 'weather', tools: [echoTool('a', { parameters: { type: 'string' } })] }, /not the JSON Schema of an object/],
    ['no parameters', { id: 'weather', tools: [echoTool('a', { parameters: undefined as unknown as JsonObject })] }, /not the JSON Schema of an object/],
    ['a timeout of zero', { id: 'weather', tools: [echoTool('a', { timeoutMs: 0 })] }, /timeoutMs that is not a number above 0/],
    [
      'a timeout for ever',
      { id: 'weather', tools: [echoTool('a', { timeoutMs: Infinity })] },
      /tool "a" has a timeoutMs that is not a number above 0, of 2147483647 at most/,
    ],
    ['a timeout that no timer takes', { id: 'weather', tools: [echoTool('a', { timeoutMs: 2 ** 31 })] }, /of 2147483647 at most/],
    ['a bare object as a tool', { id: 'weather', tools: [{ id: 'a', description: 'A' }] }, /has no execute function\. Make each tool with defineTool/],
    [
      'a host with a star',
      { id: 'weather', tools: [echoTool('a', { permissions: { network: ['*.example'] } })] },
      /tool "a" has permissions that are not usable/,
    ],
    ['a relative directory', { id: 'weather', tools: [echoTool('a', { permissions: { fs: ['data'] } })] }, /fs absolute paths/],
    [
      'a permission that there is not',
      { id: 'weather', tools: [echoTool('a', { permissions: { networks: ['a.example'] } as object })] },
      /and there are no others/,
    ],
    ['a kind of its own', { id: 'weather', tools: [{ ...echoTool('a'), kind: 'helper' }] }, /none of tool, agent, behavior and multimodal_agent/],
    ['a visibility of its own', { id: 'weather', tools: [{ ...echoTool('a'), visibility: 'shy' }] }, /none of visible, deferred and hidden/],
    [
      'a variable without a name',
      { id: 'weather', tools: [], environment: [{ name: 'A B', required: true }] },
      /"environment" is not a list of \{ name, required \}/,
    ],
    ['a configuration that is no object', { id: 'weather', tools: [], configSchema: { type: 'string' } }, /"configSchema" is not the JSON Schema of an object/],
    ['a hook that is no function', { id: 'weather', tools: [], promptText: 'Hello' }, /"promptText" is not a function/],
    ['a list as the name of a variable', { id: 'weather', tools: [], environment: [{ name: ['KEY'], required: true }] }, /"environment" is not a list/],
    ['an approval in words', { id: 'weather', tools: [], requireApproval: 'always' }, /"requireApproval" is neither true nor false/],
    [
      'a tool with an approval in words',
      { id: 'weather', tools: [{ ...echoTool('a'), requireApproval: 'yes' }] },
      /tool "a" has a requireApproval that is neither/,
    ],
    ['a brief that is a number', { id: 'weather', tools: [{ ...echoTool('a'), brief: 5 }] }, /tool "a" has a brief that is not a text/],
    ['a title that is a number', { id: 'weather', tools: [{ ...echoTool('a'), annotations: { title: 5 } }] }, /tool "a" has annotations that are not usable/],
    ['a hint in words', { id: 'weather', tools: [{ ...echoTool('a'), annotations: { readOnlyHint: 'yes' } }] }, /tool "a" has annotations that are not usable/],
    ['a version that is a number', { id: 'weather', version: 2, tools: [] }, /version and description have to be texts/],
  ])('%s', (_, definition, expected) => {
    expect(problemOf(definition)).toMatch(expected);
  });
});

test('a plugin that is an instance keeps its hooks with their state', async () => {
  class Greeter {
    id = 'greeter';
    tools = [echoTool('hello')];
    greeting = 'Hello';
    async promptText(): Promise<string> {
      return this.greeting;
    }
  }
  const conversation = { conversationId: 'conv_1', userId: 'user', tenantId: 'tenant', agentId: 'agent' };
  await expect(definePlugin(new Greeter()).promptText?.(conversation)).resolves.toBe('Hello');
});

test('a tool that was written as a plain object may leave out what it does not say', () => {
  const { kind, annotations, isolation, timeoutMs, parameters } = echoTool('plain');
  const execute = async () => 'done';
  const plain = { id: 'plain', description: 'Plain', kind, annotations, isolation, timeoutMs, parameters, execute } as unknown as Tool;
  expect(definePlugin({ id: 'p', tools: [plain] }).tools[0]).toMatchObject({ visibility: 'visible', permissions: {}, resultSchema: undefined });
});

test('alerts that are too many or too long say how much was left out', () => {
  const alerts = alertsOf([{ text: 'x'.repeat(1_500) }, ...Array.from({ length: 60 }, () => ({ level: 'error', text: 'y' }))]);
  expect(alerts).toHaveLength(51);
  expect(alerts[0]).toMatchObject({ level: 'info', text: `${'x'.repeat(1_000)} …cut, 500 more characters` });
  expect(alerts.at(-1)).toMatchObject({ level: 'warning', text: '11 more alerts are left out: at most 50 are kept' });
});
