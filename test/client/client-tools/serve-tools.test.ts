import type { ToolsHost } from '../../../src/client/client-tools/client-tool-types.ts';
import { pauseUntil, serveTools } from '../../../src/client/client-tools/serve-tools.ts';

const CALL = { callId: 'call_1', name: 'open_file', path: ['conv_1'], waitingSince: '2027-01-31T10:00:00.000Z' };

test('a call that was taken as the client was stopped is given back, and its handler is not started', async () => {
  const stop = new AbortController();
  const claims: (number | undefined)[] = [];
  const host = {
    waitingCalls: async () => ({ calls: [CALL], seq: 1 }),
    claimCall: async (_conversation: string, { leaseMs }: { leaseMs?: number }) => {
      claims.push(leaseMs);
      stop.abort();
      return { ...CALL, arguments: {} };
    },
    giveResult: () => Promise.reject(new Error('a result was given')),
    async *events() {
      // None come.
    },
  } as unknown as ToolsHost;
  let started = 0;
  // It would never end.
  const handler = () => new Promise<never>(() => (started += 1));
  await serveTools(host, 'conv_1', new Map([['open_file', handler]]), stop.signal);
  expect({ started, claims }).toEqual({ started: 0, claims: [undefined, 0] });
});

test.each([
  ['of the same clock', 20_000, 20_000],
  ['of a clock that is an hour ahead', 3_620_000, 30_000],
  ['of a clock that is an hour behind', -3_580_000, 800],
])('the end of a claim %s is waited for, and then looked at again', (_, untilMs, pauseMs) => {
  expect(pauseUntil(untilMs, 0, 800)).toBe(pauseMs);
});
