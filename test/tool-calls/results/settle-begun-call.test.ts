import { createSettleCall } from '../../../src/tool-calls/results/settle-call.ts';
import type { SettleCallArgs } from '../../../src/contracts/activities.ts';
import type { Store } from '../../../src/store/store.ts';
import type { ToolCallRow } from '../../../src/store/tool-call-rows.ts';

const message = 'mail:send failed: Postgres is away';

/** What is stored of a call all of whose attempts have failed. */
async function storedOf(state: ToolCallRow['state'] | undefined, more: Pick<SettleCallArgs, 'settlement' | 'runsOnce'>) {
  const stored: { state: string; text: string | undefined; event: string | undefined }[] = [];
  const store = {
    toolCalls: {
      openOfCode: async () => [],
      get: async () => state && { state },
      settle: async (_id: string, _fence: unknown, result: { state: string; content: { text: string }[] }, [event]: { type: string }[]) =>
        void stored.push({ state: result.state, text: result.content[0]?.text, event: event?.type }),
    },
  } as unknown as Store;
  const call = { conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', callId: 'call_1', tool: 'mail:send' };
  await createSettleCall({ store })({ ...call, ...more, message });
  return stored;
}

const unknown = {
  state: 'unknown',
  event: 'tool.unknown',
  text: `${message}\nAn earlier attempt at the call had begun, and how far it came is not known. Check the current state before you repeat it.`,
};
const failed = { state: 'failed', event: 'tool.finished', text: message };

test('a call that may run only once is unknown when an attempt at it has begun, and has failed when none has', async () => {
  expect(await storedOf('running', { settlement: 'failed', runsOnce: true })).toEqual([unknown]);
  expect(await storedOf('proposed', { settlement: 'failed', runsOnce: true })).toEqual([failed]);
  expect(await storedOf(undefined, { settlement: 'failed', runsOnce: true })).toEqual([failed]);
});

test('a call that may be repeated has failed, also when an attempt at it has begun', async () => {
  expect(await storedOf('running', { settlement: 'failed' })).toEqual([failed]);
});

test('an interruption stays one', async () => {
  expect(await storedOf('running', { settlement: 'interrupted', runsOnce: true })).toMatchObject([{ state: 'interrupted' }]);
});
