import { judgeMethod } from '../../../src/tool-calls/run/judge-method.ts';
import type { ExecuteToolArgs } from '../../../src/contracts/activities.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { definePlugin, defineTool } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';

const tool = (id: string, readOnlyHint: boolean) =>
  defineTool({ id, description: id, parameters: { type: 'object' }, annotations: { readOnlyHint }, execute: async () => id });
const registry = createRegistry([
  definePlugin({ id: 'notes', tools: [tool('read', true), tool('write', false), tool('forbidden', true), tool('asked', true)] }),
  definePlugin({ id: 'other', tools: [tool('read', true)] }),
]);
const agent = {
  id: 'agent',
  tools: ['notes:*'],
  requireApproval: {},
  approval: [
    { tool: 'notes:forbidden', decide: 'deny' },
    { tool: 'notes:asked', decide: 'ask' },
    { tool: 'notes:write', decide: 'allow' },
  ],
} as unknown as Agent;
const parts = { args: { agentId: 'agent' } as ExecuteToolArgs, registry, agents: new Map([['agent', agent]]), available: registry.forAgent(agent) };

function judge(name: string, input: JsonObject = {}, callId = 'call_1-1m1') {
  return judgeMethod(parts, callId, { execId: 'call_1-1', number: 1, tool: name, arguments: input, repeated: false }, undefined);
}
const refusalOf = async (...given: Parameters<typeof judge>) => {
  const verdict = await judge(...given);
  return verdict.next === 'answer' && 'error' in verdict.answer ? verdict.answer.error : undefined;
};

test.each([
  ['notes:read', 'at-once'],
  ['notes:asked', 'durable'],
  ['notes:write', 'durable'],
  ['notes:forbidden', 'deny'],
])('%s is for code as the policy has it: %s', async (name, next) => {
  expect((await judge(name)).next).toBe(next);
});

test.each(['other:read', '__proto__', 'constructor', 'read', 'notes:gone'])(
  'an undeclared tool, one that the agent does not have, is refused by its name: %s',
  async (name) => {
    const message = `Unknown tool "${name}". Available: notes:asked, notes:forbidden, notes:read, notes:write.`;
    expect(await refusalOf(name)).toEqual({ code: 'TOOL_NOT_FOUND', message });
  },
);

test('arguments that would change a prototype are refused', async () => {
  expect(await refusalOf('notes:write', JSON.parse('{"a":{"__proto__":{"admin":true}}}') as JsonObject)).toEqual({
    code: 'TOOL_ARGUMENTS_INVALID',
    message: 'Arguments of notes:write are not valid: /a/__proto__: this key is not accepted. Correct them and call it again',
  });
});

test('code is told only of the tools that its agent has', async () => {
  expect(await judge('longshore:tools')).toMatchObject({
    next: 'answer',
    answer: { ok: [{ id: 'notes:asked' }, { id: 'notes:forbidden' }, { id: 'notes:read' }, { id: 'notes:write' }] },
  });
});

test('code is told which tools the instructions describe by their own names', async () => {
  const nekro = { ...definePlugin({ id: 'dice', tools: [tool('read', true)] }), dialect: 'nekro' as const };
  const both = createRegistry([definePlugin({ id: 'notes', tools: [tool('read', true)] }), nekro]);
  const call = { execId: 'call_1-1', number: 1, tool: 'longshore:tools', arguments: {}, repeated: false };
  const verdict = await judgeMethod({ ...parts, registry: both, available: both.tools }, 'call_1-1m1', call, undefined);
  const told = verdict.next === 'answer' && 'ok' in verdict.answer ? verdict.answer.ok : [];
  expect(told).toEqual([expect.objectContaining({ id: 'dice:read', bare: true }), expect.not.objectContaining({ bare: true })]);
});

test('calls of code that was called by code end at a depth of three', async () => {
  expect((await judge('notes:read', {}, 'call_1-1m1-1m1-1m1')).next).toBe('at-once');
  expect((await refusalOf('notes:read', {}, 'call_1-1m1-1m1-1m1-1m1'))?.code).toBe('TOO_DEEP');
});
