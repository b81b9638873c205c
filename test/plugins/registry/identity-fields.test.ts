import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { definePlugin, defineTool, type ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { judgeCalls } from '../../../src/plugins/approval/judge-calls.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { z } from 'zod';

const identity = { conversationId: 'conv_1', userId: 'user-42', tenantId: 'acme' } as ToolContext;
const ran: unknown[] = [];
const remind = defineTool({
  id: 'remind',
  description: 'Reminds',
  parameters: z.strictObject({
    text: z.string(),
    stream_id: z.string(),
    user_id: z.string(),
    group_id: z.string(),
    tenantId: z.string(),
    platform: z.string(),
  }),
  async execute(input) {
    ran.push(input);
    return 'done';
  },
});
const taking = (id: string, parameters: JsonObject) => defineTool({ id, description: 'Takes', parameters, execute: async (input) => input });
const text = { type: 'string' };
const registry = createRegistry([
  definePlugin({ id: 'notes', tools: [remind] }),
  definePlugin({
    id: 'open',
    tools: [
      taking('any', { type: 'object' }),
      taking('more', { type: 'object', properties: { text }, additionalProperties: true }),
      defineTool({ id: 'loose', description: 'Takes', parameters: z.looseObject({ text: z.string() }), execute: async (input) => input as JsonObject }),
      taking('described', { type: 'object', properties: { text }, additionalProperties: { description: 'Anything else' } }),
      taking('closed', { type: 'object', properties: { text }, additionalProperties: false }),
      taking('named', { type: 'object', additionalProperties: text }),
    ],
  }),
  definePlugin({
    id: 'github',
    dialect: 'mcp',
    tools: [
      defineTool({
        id: 'user',
        description: 'A user',
        parameters: { type: 'object', properties: { user_id: { type: 'string' } }, required: ['user_id'] },
        execute: async (input) => input,
      }),
    ],
  }),
]);
const tool = registry.get('notes:remind')!;
const agent = defineAgent({ id: 'fixer', model: 'openai/x', tools: ['*'] });

function judge(tool: string, args: JsonObject) {
  return judgeCalls({ registry, agent, calls: [{ callId: 'call_1', tool, arguments: args }] });
}

test('a model is not shown the fields that say for whom a tool works', () => {
  expect(Object.keys(tool.parameters['properties'] as object)).toEqual(['text']);
  expect(tool.parameters['required']).toEqual(['text']);
});

test('what a model sends for them is dropped before the call is judged, hashed and shown', async () => {
  const forged = await judge('notes:remind', { text: 'x', user_id: 'somebody else', stream_id: 'conv_2' });
  expect(forged.refusals).toEqual([]);
  expect(forged.proposed[0]).toMatchObject({ decision: 'ask', arguments: { text: 'x' } });
  expect(forged.accepted).toEqual([{ text: 'x' }]);
  expect(forged.proposed[0]?.hash).toBe((await judge('notes:remind', { text: 'x' })).proposed[0]?.hash);
});

test('a tool that takes whatever it is given is not given them by the model; one that says what it takes refuses them, or has them for data', async () => {
  const forged = { text: 'x', user_id: 'somebody else', streamId: 'conv_2' };
  for (const tool of ['open:any', 'open:more', 'open:loose', 'open:described']) {
    const { accepted, refusals } = await judge(tool, forged);
    expect([tool, accepted, refusals]).toEqual([tool, [{ text: 'x' }], []]);
  }
  expect((await judge('open:closed', forged)).refusals[0]?.text).toBe(
    'Arguments of open:closed are not valid: /user_id: not known (known: text); /streamId: not known (known: text). Correct them and call it again',
  );
  expect((await judge('open:named', forged)).accepted).toEqual([forged]);
});

test('the host fills them in when the tool runs, whatever the arguments say', async () => {
  await tool.execute({ text: 'x', user_id: 'somebody else' }, identity);
  expect(ran).toEqual([{ text: 'x', stream_id: 'conv_1', user_id: 'user-42', group_id: '', tenantId: 'acme', platform: 'longshore' }]);
});

test('the ids of a foreign server are its own affair', async () => {
  const foreign = registry.get('github:user')!;
  expect(foreign.problemsOf({})).toEqual(['/user_id: missing']);
  await expect(foreign.execute({ user_id: 'octocat' }, identity)).resolves.toEqual({ user_id: 'octocat' });
});
