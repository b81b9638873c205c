import type { ProposedCall } from '../../../src/contracts/activities.ts';
import { questionTool } from '../../../src/contracts/questions/question.ts';
import {
  answerApproval,
  askApproval,
  dueApprovals,
  judgeAnswer,
  nextExpiry,
  pauseForApprovals,
  sameTool,
} from '../../../src/workflows/state/approval-state.ts';
import type { ConversationData } from '../../../src/workflows/state/conversation-data.ts';
import { openConversation } from '../../../src/workflows/state/conversation-state.ts';
import { stateOf, statusOf } from '../../../src/workflows/state/conversation-status.ts';
import { enterPause, wishPause } from '../../../src/workflows/state/pause-state.ts';

const call = (callId: string, tool = 'shell:run') =>
  ({ callId, tool, hash: `hash-${callId}`, why: 'asked', arguments: { command: 'ls' } }) as unknown as ProposedCall;

const from = { nowMs: 2_000, by: 'ada' };

function asking(approvalTimeoutMs: number, ...callIds: string[]): ConversationData {
  const data = openConversation({
    conversationId: 'conv_1',
    agentId: 'fixer',
    userId: 'user',
    tenantId: 'tenant',
    limits: { budget: {}, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs },
  });
  for (const callId of callIds) askApproval(data, 'turn_1', call(callId), 1_000);
  return data;
}

test('an approval is single use', () => {
  const data = asking(0, 'a');
  const verdict = judgeAnswer(data, { callId: 'a', hash: 'hash-a', answer: 'allow-once' });
  expect(verdict.outcome).toBe('accept');
  expect(stateOf(data)).toBe('awaiting-approval');
  expect(answerApproval(data, data.approvals[0]!, { answer: 'allow-once' }, from)).toBe(true);
  expect(answerApproval(data, data.approvals[0]!, { answer: 'deny' }, from)).toBe(false);
  expect(judgeAnswer(data, { callId: 'a', hash: 'hash-a', answer: 'deny' })).toEqual({ outcome: 'missing' });
  expect(data.allowedTools).toEqual([]);
});

test('an approval that is being answered takes no second answer', () => {
  const data = asking(0, 'a');
  data.approvals[0]!.claimed = true;
  expect(judgeAnswer(data, { callId: 'a', hash: 'hash-a', answer: 'deny' })).toEqual({ outcome: 'missing' });
});

test('an answer to another hash is refused', () => {
  expect(judgeAnswer(asking(0, 'a'), { callId: 'a', hash: 'other', answer: 'allow' })).toEqual({ outcome: 'mismatch', expected: 'hash-a' });
});

test('allow is remembered for the tool and answers its other pending calls', () => {
  const data = asking(0, 'a', 'b');
  askApproval(data, 'turn_1', call('c', 'files:write'), 1_000);
  expect(sameTool(data, data.approvals[0]!).map(({ pending }) => pending.callId)).toEqual(['b']);
  answerApproval(data, data.approvals[0]!, { answer: 'allow' }, from);
  answerApproval(data, data.approvals[1]!, { answer: 'allow' }, from);
  expect(data.allowedTools).toEqual(['shell:run']);
});

test('approvals expire when their time is over, and never when there is none', () => {
  const data = asking(500, 'a', 'b');
  expect(nextExpiry(data)).toBe(1_500);
  expect(dueApprovals(data, 1_499)).toEqual([]);
  data.approvals[1]!.claimed = true;
  expect(dueApprovals(data, 1_500).map(({ pending }) => pending.callId)).toEqual(['a']);
  expect(nextExpiry(asking(0, 'a'))).toBeUndefined();
});

test('an approval that expires while the conversation is paused does not pause it once more', () => {
  const data = asking(100, 'a');
  wishPause(data, { note: 'lunch' });
  enterPause(data, 1_050);
  pauseForApprovals(data, dueApprovals(data, 2_000));
  expect([data.pauseWish, data.paused, nextExpiry(data)]).toEqual([undefined, { by: 'operator', note: 'lunch' }, undefined]);
});

test('the arguments of all approvals that wait fit into one status, and those of a question are always there', () => {
  const data = asking(0);
  const long = (callId: string, tool?: string) => ({ ...call(callId, tool), arguments: { content: '漢'.repeat(16_000) } });
  for (let count = 0; count < 100; count += 1) askApproval(data, 'turn_1', long(`call_${count}`), 1_000);
  expect(askApproval(data, 'turn_1', long('asked', questionTool('tickets')), 1_000).arguments).toBeDefined();
  expect(Buffer.byteLength(JSON.stringify(statusOf(data, 0)))).toBeLessThan(1_000_000);
  expect(data.approvals.filter(({ pending }) => pending.arguments)).toHaveLength(9);
  for (const approval of data.approvals.slice(0, 8)) approval.answer = { answer: 'allow-once' };
  expect(askApproval(data, 'turn_1', long('next'), 1_000).arguments).toBeDefined();
});
