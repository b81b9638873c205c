import type { ProposedCall } from '../../../src/contracts/activities.ts';
import { allowedTools, allowTool, askAgain, revokeTool } from '../../../src/workflows/state/allowed-tools.ts';
import type { ConversationData } from '../../../src/workflows/state/conversation-data.ts';
import { carryConversation, openConversation } from '../../../src/workflows/state/conversation-state.ts';
import { statusOf } from '../../../src/workflows/state/conversation-status.ts';

const input = {
  conversationId: 'conv_1',
  agentId: 'fixer',
  userId: 'user',
  tenantId: 'tenant',
  limits: { budget: {}, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy' as const, approvalTimeoutMs: 0 },
};
const at = '2027-01-31T09:00:00.000Z';
const allowing = (): ConversationData => {
  const data = openConversation(input);
  allowTool(data, { tool: 'shell:run', callId: 'call_1', by: 'ada', at });
  return data;
};

test('a tool that is allowed is in the status with who has said so, and the first answer counts', () => {
  const data = allowing();
  allowTool(data, { tool: 'shell:run', callId: 'call_2', by: 'bob', at });
  expect(statusOf(data, 0).allowedTools).toEqual([{ tool: 'shell:run', callId: 'call_1', by: 'ada', at }]);
  expect(statusOf(openConversation(input), 0)).not.toHaveProperty('allowedTools');
});

test('what is allowed goes on in the next run of the workflow, and what an earlier version has carried is listed without its facts', () => {
  const carried = carryConversation(allowing());
  expect(allowedTools(openConversation({ ...input, carried }))).toEqual([{ tool: 'shell:run', callId: 'call_1', by: 'ada', at }]);
  const { allowances: _facts, ...older } = carried;
  expect(allowedTools(openConversation({ ...input, carried: older }))).toEqual([{ tool: 'shell:run' }]);
});

test('a tool is revoked once, with an event, also one of an earlier version', () => {
  const data = allowing();
  data.allowances = [];
  expect([revokeTool(data, 'shell:run', 'ada'), revokeTool(data, 'shell:run', 'ada'), revokeTool(data, 'files:write')]).toEqual([true, false, false]);
  expect(data.outbox).toEqual([{ type: 'tool.approval-revoked', data: { tool: 'shell:run', by: 'ada' } }]);
  expect([data.allowedTools, allowedTools(data)]).toEqual([[], []]);
});

test('a call that was decided by an allowance is asked about when that was revoked while the model was asked; others keep their decision', () => {
  const call = (more: Partial<ProposedCall>) => ({ callId: 'call_3', tool: 'shell:run', decision: 'allow', why: 'allowed', ...more }) as ProposedCall;
  const data = allowing();
  const calls = [call({ remembered: true }), call({})];
  askAgain(data, calls);
  expect(calls.map(({ decision }) => decision)).toEqual(['allow', 'allow']);
  revokeTool(data, 'shell:run');
  askAgain(data, calls);
  expect(calls.map(({ decision, why }) => [decision, why])).toEqual([
    ['ask', 'shell:run is not allowed any more'],
    ['allow', 'allowed'],
  ]);
});
