import { createSettleCall } from '../../src/tool-calls/results/settle-call.ts';
import type { Store } from '../../src/store/store.ts';

/** What the model is told of a call that a client was to run, when its turn ends. */
async function toldOf(ended: Awaited<ReturnType<Store['clientCalls']['end']>>, tool = 'client:open_file'): Promise<unknown[]> {
  const done: unknown[] = [];
  const store = {
    toolCalls: {
      openOfCode: async () => [],
      settle: async (_id: string, _fence: unknown, { content }: { content: { text: string }[] }) => void done.push(content[0]?.text),
    },
    clientCalls: { end: async () => ended, forget: async () => void done.push('forgotten') },
  } as unknown as Store;
  const call = { conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', callId: 'call_1', tool };
  await createSettleCall({ store })({ ...call, settlement: 'interrupted', message: 'Interrupted.' });
  return done;
}

test.each([
  ['nobody has taken', undefined, 'Interrupted.'],
  ['a client waits for', { claims: 0 }, 'Interrupted.'],
  ['a client has taken', { claims: 2 }, 'Interrupted. A client had taken it; it is not known what of it was done.'],
  [
    'a client has just answered',
    { claims: 1, answer: { result: { opened: true }, isError: false } },
    'The turn was ended just when a client had run this call. Its result: {"opened":true}',
  ],
])('of a call that %s', async (_what, ended, text) => {
  expect(await toldOf(ended)).toEqual([text, 'forgotten']);
});

test('calls of other tools ask no client', async () => {
  expect(await toldOf({ claims: 1 }, 'shell:run')).toEqual(['Interrupted.']);
});
