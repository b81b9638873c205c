import { failure } from '../../src/contracts/errors.ts';
import { proposed } from './calls.ts';
import { setUpCall } from './fakes.ts';

test('what the workflow has to know of a call that has its result is read when the database is back: there may be no other attempt', async () => {
  const call = await proposed(setUpCall({ isolation: 'host', annotations: { idempotentHint: true }, execute: async () => 'fine' }));
  const away = (times: number) => Array.from({ length: times }, () => failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' }));
  const faults = { tier: away(2), asked: away(1) };
  const unless = async <Found>(those: Error[], found: Found) => {
    const fault = those.pop();
    if (fault) throw fault;
    return found;
  };
  Object.assign(call.store.sandboxes, { ofConversation: () => unless(faults.tier, undefined) });
  const used = { calls: 1, inputTokens: 3, outputTokens: 4, costUsd: 0 };
  Object.assign(call.store, { usage: { under: () => unless(faults.asked, used) } });
  // An earlier attempt may have asked the model.
  await call.store.toolCalls.claim('call_1', 'h1');
  const { calls: _, ...asked } = used;
  expect(await call.worker().execute({ modelLeft: {} })).toEqual({ outcome: 'finished', isError: false, sandboxTier: 'none', asked });
  expect(faults).toEqual({ tier: [], asked: [] });
});
