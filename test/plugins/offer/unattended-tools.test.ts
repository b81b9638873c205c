import type { ApprovalRule } from '../../../src/contracts/agent.ts';
import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';
import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { judgeCalls } from '../../../src/plugins/approval/judge-calls.ts';
import { BUILTIN_PLUGINS } from '../../../src/plugins/builtin/builtin-plugins.ts';
import { availableTools } from '../../../src/plugins/offer/available-tools.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { echoTool } from '../tools.ts';

const echo = definePlugin({
  id: 'echo',
  tools: [echoTool('reads', { annotations: { readOnlyHint: true } }), echoTool('writes'), echoTool('erases', { annotations: { destructiveHint: true } })],
});
const registry = createRegistry([...BUILTIN_PLUGINS, echo]);
const conversation = { conversationId: 'conv_1', userId: 'u', tenantId: 't', agentId: 'fixer' };

function agentWith(...approval: ApprovalRule[]) {
  return defineAgent({ id: 'fixer', model: 'openai/x', tools: ['echo:*'], plugins: [], approval, judge: { model: 'openai/y' } });
}

async function offered(...approval: ApprovalRule[]): Promise<string[]> {
  const onProblem = () => undefined;
  const agent = { ...agentWith(...approval), plugins: ['echo'] };
  const tools = await availableTools({ registry, agent, conversation, unattended: true, onProblem });
  return tools.map(({ id }) => id).filter((id) => id.startsWith('echo:'));
}

test('without a person, tools are offered that only read, and those that a judge may allow', async () => {
  expect(await offered()).toEqual(['echo:reads']);
  expect(await offered({ tool: '*', decide: 'auto' })).toEqual(['echo:reads', 'echo:writes']);
  expect(await offered({ tool: 'echo:writes', when: { text: 'a*' }, decide: 'auto' })).toEqual(['echo:reads', 'echo:writes']);
  expect(await offered({ tool: '*', decide: 'auto' }, { tool: 'echo:writes', decide: 'ask' })).toEqual(['echo:reads']);
});

test('without a person, a call goes to the judge when a rule says so, and is denied otherwise', async () => {
  const decisionOf = async (tool: string, ...approval: ApprovalRule[]) => {
    const calls = [{ callId: 'call_1', tool, arguments: {} }];
    const { proposed } = await judgeCalls({ registry, agent: agentWith(...approval), calls, available: registry.tools, unattended: true });
    return [proposed[0]?.decision, proposed[0]?.auto];
  };
  const auto: ApprovalRule = { tool: '*', decide: 'auto' };
  expect(await decisionOf('echo:writes', auto)).toEqual(['ask', true]);
  expect(await decisionOf('echo:writes')).toEqual(['deny', undefined]);
  expect(await decisionOf('echo:erases', auto)).toEqual(['deny', undefined]);
});
