import { pino } from 'pino';
import { MethodDesk, type DeskParts } from '../../../src/tool-calls/run/method-desk.ts';
import { callOfCode } from '../../../src/contracts/call-ids.ts';
import type { MethodAnswer, MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';

const CALL = { execId: 'call_1-1', number: 1, repeated: true } as MethodCall;

/** A desk whose code has made one call that the ledger has a result for. */
function deskWith(state: 'interrupted' | 'failed') {
  const callId = callOfCode(CALL.execId, CALL.number);
  const row = { callId, tool: 'lab:wait', state, isError: true, content: [{ type: 'text', text: 'It ended.' }] };
  const store = { toolCalls: { get: async () => row } };
  const parts = { args: { callId: 'call_1', openMethods: [callId] }, store, registry: { get: () => undefined }, awaited: new Map(), agents: new Map() };
  const answers: MethodAnswer[] = [];
  const handle = { answerMethod: async (_execId: string, _number: number, answer: MethodAnswer) => void answers.push(answer) };
  const desk = new MethodDesk({ ...parts, log: pino({ level: 'silent' }) } as unknown as DeskParts);
  desk.take(handle as unknown as WorkerHandle, CALL);
  return { desk, answers };
}

beforeEach(() => import.meta.jest.useFakeTimers());
afterEach(() => import.meta.jest.useRealTimers());

test('a call that failed is answered at once', async () => {
  const { desk, answers } = deskWith('failed');
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(answers).toEqual([{ error: { code: 'TOOL_FAILED', message: 'It ended.' } }]);
  desk[Symbol.dispose]();
});

test('that a call was interrupted is told only to code that outlives the interruption', async () => {
  const { desk, answers } = deskWith('interrupted');
  let suspended = false;
  void desk.suspended.then(() => (suspended = true));
  await import.meta.jest.advanceTimersByTimeAsync(9_000);
  expect({ answers, suspended }).toEqual({ answers: [], suspended: false });
  await import.meta.jest.advanceTimersByTimeAsync(1_000);
  expect(answers).toEqual([{ error: { code: 'INTERRUPTED', message: 'It ended.' } }]);
  desk[Symbol.dispose]();
});

test('code that was ended by the interruption is told nothing', async () => {
  const { desk, answers } = deskWith('interrupted');
  await import.meta.jest.advanceTimersByTimeAsync(1_000);
  desk[Symbol.dispose]();
  await import.meta.jest.advanceTimersByTimeAsync(60_000);
  expect(answers).toEqual([]);
});

test.each([
  ['calls a tool', { tool: 'shell:run' }, 'NOT_ALLOWED', 'An MCP server cannot call the tools of the conversation.'],
  ['asks too often', { tool: 'elicitation/create', number: 21 }, 'TOO_MANY', 'a server may ask 20 questions during one call'],
  ['asks what is no question', { tool: 'elicitation/create' }, 'MALFORMED', 'it is neither a form of texts, numbers, truth values and choices nor a url'],
])('what comes in the name of a server and %s is refused', async (_what, given, code, message) => {
  const { desk, answers } = deskWith('failed');
  await import.meta.jest.advanceTimersByTimeAsync(0);
  const answerMethod = async (_execId: string, _number: number, answer: MethodAnswer) => void answers.push(answer);
  desk.ask('far', { answerMethod } as unknown as WorkerHandle, { ...CALL, repeated: false, arguments: {}, ...given });
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(answers.at(-1)).toEqual({ error: { code, message } });
  desk[Symbol.dispose]();
});
