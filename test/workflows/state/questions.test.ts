import type { ProposedCall } from '../../../src/contracts/activities.ts';
import type { ConversationData } from '../../../src/workflows/state/conversation-data.ts';
import { closeQuestion, dropQuestions, newQuestions, takeQuestion } from '../../../src/workflows/state/questions.ts';

const question = (callId: string, tool = 'far:elicitation/create') => ({ callId, tool }) as ProposedCall;
const running = () => ({ runningCalls: [{ callId: 'call_1', tool: 'far:book' }] }) as Partial<ConversationData> as ConversationData;

test('a question of a running call is asked once, also when another attempt asks it again after its end', () => {
  const data = running();
  takeQuestion(data, { callId: 'call_1', question: question('q1') });
  takeQuestion(data, { callId: 'call_1', question: question('q1') });
  const [asked, ...others] = newQuestions(data, 'call_1');
  expect(asked).toMatchObject({ ofCall: 'call_1', question: { callId: 'q1' }, isWithdrawn: false });
  expect(others).toEqual([]);
  expect(newQuestions(data, 'call_1')).toEqual([]);
  takeQuestion(data, { callId: 'call_1', question: question('q1'), withdrawn: true });
  expect(asked?.isWithdrawn).toBe(true);
  closeQuestion(asked!);
  takeQuestion(data, { callId: 'call_1', question: question('q1') });
  expect(newQuestions(data, 'call_1')).toEqual([]);
  dropQuestions(data, 'call_1');
  expect(data.questions).toBeUndefined();
});

test.each([
  ['of a call that does not run', { callId: 'call_2', question: question('q1') }],
  ['of no call', { question: question('q1') }],
  ['that was withdrawn before it came', { callId: 'call_1', question: question('q1'), withdrawn: true }],
  ['that is a call of a tool', { callId: 'call_1', question: question('q1', 'shell:run') }],
  ['that is no object', { callId: 'call_1', question: 7 as never }],
  ['without an id', { callId: 'call_1', question: { tool: 'far:elicitation/create' } as never }],
])('a question %s is dropped', (_what, asks) => {
  const data = running();
  takeQuestion(data, asks);
  expect(data.questions).toBeUndefined();
});

test('a call has a limited number of open questions', () => {
  const data = running();
  for (let n = 0; n < 30; n += 1) takeQuestion(data, { callId: 'call_1', question: question(`q${n}`) });
  const asked = newQuestions(data, 'call_1');
  expect(asked).toHaveLength(20);
  closeQuestion(asked[0]!);
  takeQuestion(data, { callId: 'call_1', question: question('q31') });
  expect(newQuestions(data, 'call_1')).toHaveLength(1);
});
