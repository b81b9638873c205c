import { failure } from '../../../src/contracts/errors.ts';
import type { Question } from '../../../src/contracts/questions/question.ts';
import type { NewMethodCall, ToolCallRow } from '../../../src/store/tool-call-rows.ts';
import { createAskPerson } from '../../../src/tool-calls/run/ask-person.ts';
import type { ToolRun } from '../../../src/tool-calls/run/tool-run.ts';

const QUESTION: Question = { server: 'desk', message: 'Which city?', schema: { type: 'object', properties: {} }, answer: {} };
const away = () => failure('POSTGRES_UNAVAILABLE', { problem: 'it restarts' });

/** A call whose questions are kept in memory; the next statements fail, before or after they took effect, as they say. */
function bench() {
  const rows = new Map<string, ToolCallRow>();
  const told: string[] = [];
  const failures: { get: ('before' | 'none')[]; propose: ('before' | 'after')[] } = { get: [], propose: [] };
  const toolCalls = {
    async get(callId: string) {
      if (failures.get.shift() === 'before') throw away();
      return rows.get(callId);
    },
    async proposeMethod(call: NewMethodCall) {
      const fails = failures.propose.shift();
      if (fails === 'before') throw away();
      rows.set(call.callId, { ...call, state: 'proposed' } as unknown as ToolCallRow);
      if (fails === 'after') throw away();
      return true;
    },
  };
  const tell = async (_conversation: string, { question, withdrawn }: { question: { callId: string }; withdrawn?: boolean }) => {
    told.push(withdrawn ? 'withdrawn' : 'asked');
    if (!withdrawn) Object.assign(rows.get(question.callId)!, { state: 'finished', content: [], arguments: { ...QUESTION, answer: { city: 'Oslo' } } });
  };
  const args = { conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', callId: 'call_1' };
  const run = { args, store: { toolCalls }, questions: { tell }, progress: { line: () => undefined } } as unknown as ToolRun;
  const hold = () => ({ [Symbol.dispose]: () => undefined });
  const ask = createAskPerson(run, hold, new AbortController().signal);
  return { failures, rows, told, ask: () => ask(QUESTION, new AbortController().signal) };
}

test.each([
  ['before the question is looked for', { get: ['before'], propose: [] }],
  ['before it is stored', { get: [], propose: ['before'] }],
  ['after it was stored', { get: [], propose: ['after'] }],
  ['while the answer is waited for', { get: ['none', 'before', 'before'], propose: [] }],
] as const)('a question survives that Postgres is away for a while: %s', async (_when, failures) => {
  const { ask, rows, told, failures: next } = bench();
  Object.assign(next, { get: [...failures.get], propose: [...failures.propose] });
  expect(await ask()).toEqual({ action: 'accept', content: { city: 'Oslo' } });
  expect(rows.size).toBe(1);
  expect(told).toEqual(['asked']);
});
