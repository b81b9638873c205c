import type { ExecuteToolArgs } from '../../../../src/contracts/activities.ts';
import type { RegisteredTool } from '../../../../src/plugins/registry/registry.ts';
import type { NewEvent, Store } from '../../../../src/store/store.ts';
import type { CallResult } from '../../../../src/store/tool-call-rows.ts';
import { beginWithoutRow, mayHaveLateRow } from '../../../../src/tool-calls/run/methods/late-row.ts';
import type { Within } from '../../../../src/tool-calls/run/methods/within.ts';

const RESULT: CallResult = { state: 'finished', content: [{ type: 'text', text: 'seen' }], isError: false };
const PROPOSAL = { callId: 'call_1-1m1', conversationId: 'conv_1', turnId: 't', stepId: 's', tool: 'lab:look', arguments: {}, hash: 'h', number: 1 };
const event = (type: string) => ({ type }) as unknown as NewEvent;

/** A call without a row, and what its ledger is asked for. */
function begin({ recorded = 'recorded', claimed = 'claimed' }: { recorded?: string; claimed?: string } = {}) {
  const log: string[] = [];
  const types = (events: NewEvent[]) => events.map(({ type }) => type).join();
  const toolCalls = {
    recordMethod: async (_call: object, _result: object, events: NewEvent[]) => (log.push(`record ${types(events)}`), recorded),
    claimMethod: async (_call: object, { requested, started }: Record<'requested' | 'started', NewEvent[]>) => {
      log.push(`claim ${types([...requested, ...started])}`);
      return { outcome: claimed, fence: 7 };
    },
    settle: async (_callId: string, fence: number, _result: object, events: NewEvent[]) => (log.push(`settle ${fence} ${types(events)}`), true),
  };
  const events = { append: async (_id: string, appended: NewEvent[]) => void log.push(`append ${types(appended)}`) };
  const transcript = { append: async () => (log.push('entry'), true) };
  const onResult = () => void log.push('result');
  const within = {
    proposal: { ...PROPOSAL, parentCallId: 'call_1' },
    requested: event('requested'),
    mayBeLate: true,
    signal: new AbortController().signal,
    onResult,
    onStored: () => undefined,
  };
  const late = beginWithoutRow({ toolCalls, events, transcript } as unknown as Store, within, [event('started')], { storageLimit: 2 ** 20 } as ExecuteToolArgs);
  const settle = (from?: { sandboxId: string; fence: number }) => late.store.toolCalls.settle(PROPOSAL.callId, 1, RESULT, [event('finished')], from);
  return { log, late, settle };
}

beforeEach(() => void import.meta.jest.useFakeTimers());
afterEach(() => import.meta.jest.useRealTimers());

test('a short call is stored once, with its events and its result', async () => {
  const { log, late, settle } = begin();
  expect(late.claim).toMatchObject({ outcome: 'claimed', attempt: 1, call: { callId: 'call_1-1m1', parentCallId: 'call_1', state: 'running', arguments: {} } });
  expect(await settle()).toBe(true);
  await import.meta.jest.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(['result', 'record requested,started,finished']);
});

test('a call that takes longer is in the ledger while it runs', async () => {
  const { log, settle } = begin();
  await import.meta.jest.advanceTimersByTimeAsync(50);
  expect(log).toEqual(['claim requested,started']);
  expect(await settle()).toBe(true);
  expect(log.slice(1)).toEqual(['settle 7 finished']);
});

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['append sent', ({ events }) => events.append('conv_1', [event('sent')])],
  ['entry', ({ transcript }) => transcript.append('conv_1', 't', 's', 'key', { role: 'note', text: 'told' })],
])('what it stores comes after its row: %s', async (stored, store) => {
  const { log, late, settle } = begin();
  await store(late.store);
  await settle();
  expect(log).toEqual(['claim requested,started', stored, 'settle 7 finished']);
});

test('a result from a sandbox is checked against what that has become', async () => {
  const { log, settle } = begin();
  await settle({ sandboxId: 'sbx_1', fence: 3 });
  expect(log).toEqual(['claim requested,started', 'settle 7 finished']);
});

test('a call that is there already is not stored again', async () => {
  expect(await begin({ recorded: 'exists' }).settle()).toBe(false);
  const slow = begin({ claimed: 'settled' });
  await import.meta.jest.advanceTimersByTimeAsync(50);
  expect(await slow.settle()).toBe(false);
});

test('a conversation without room says so', async () => {
  const refusal = { code: 'STORAGE_EXHAUSTED', values: { limit: 1 } };
  await expect(begin({ recorded: 'missing' }).settle()).rejects.toMatchObject(refusal);
  const slow = begin({ claimed: 'missing' });
  await import.meta.jest.advanceTimersByTimeAsync(50);
  await expect(slow.settle()).rejects.toMatchObject(refusal);
});

test('a call that is given up leaves no row', async () => {
  const { log, late } = begin();
  await late[Symbol.asyncDispose]();
  await import.meta.jest.advanceTimersByTimeAsync(1000);
  expect(log).toEqual([]);
});

test('only a new call of a tool that reads beside the worker may have its row later', () => {
  const tool = (more: object = {}) => ({ isolation: 'host', kind: 'tool', annotations: { readOnlyHint: true }, ...more }) as RegisteredTool;
  const mayBe = { mayBeLate: true } as Within;
  expect(mayHaveLateRow(mayBe, tool())).toBe(true);
  expect(mayHaveLateRow({ mayBeLate: false } as Within, tool())).toBe(false);
  const others = [
    { isolation: 'container' },
    { kind: 'agent' },
    { kind: 'behavior' },
    { annotations: { idempotentHint: true } },
    { client: {} },
    { mayGoOn: () => true },
  ];
  expect([undefined, ...others.map(tool)].map((other) => mayHaveLateRow(mayBe, other))).toEqual([undefined, ...others].map(() => false));
});

test('a call that is given up while its row is being made ends when it has its row', async () => {
  const { log, late } = begin();
  await import.meta.jest.advanceTimersByTimeAsync(50);
  await late[Symbol.asyncDispose]();
  expect(log).toEqual([expect.stringContaining('claim')]);
});
