import { deferred } from '../../../src/common/deferred.ts';
import type { ToGuest } from '../../../src/plugins/isolates/guest-protocol.ts';
import { createWatchdog } from '../../../src/plugins/isolates/watchdog.ts';
import { until } from '../../e2e/support.ts';

const UNRESPONSIVE_MS = 40;
const CALLS = { begun: () => 0, underWay: () => 0 } as unknown as Parameters<typeof createWatchdog>[1];

/** A process that takes what it is sent and answers as `answer` says. */
function watch(parts: { answer?: (message: ToGuest) => boolean; heldMs?: () => number }) {
  const seen = { pings: 0, killed: '' };
  const { promise: ended, resolve: end } = deferred<string>();
  const process = {
    pid: undefined,
    ended,
    heldMs: parts.heldMs ?? (() => 0),
    send(message: ToGuest) {
      if (message.type !== 'ping') return;
      seen.pings += 1;
      if (parts.answer?.(message)) watchdog.listen({ type: 'pong', id: message.id });
    },
    kill(why: string) {
      seen.killed = why;
      end(why);
    },
  };
  const watchdog = createWatchdog(process as unknown as Parameters<typeof createWatchdog>[0], CALLS, { unresponsiveMs: UNRESPONSIVE_MS });
  watchdog.start();
  return { seen, [Symbol.dispose]: () => end('the test is over') };
}

test('a process that answers is asked again and again; one that does not is ended', async () => {
  using living = watch({ answer: () => true });
  using silent = watch({});
  await until(async () => silent.seen.killed !== '' && living.seen.pings > 3, 'the silent process is ended');
  expect(silent.seen).toEqual({ pings: 1, killed: 'it did not answer for 40 ms' });
  expect(living.seen.killed).toBe('');
});

test('the time in which its output is not read does not count as silence', async () => {
  let heldMs = 0;
  let looks = 0;
  let isHeld = true;
  const since = performance.now();
  using sender = watch({
    heldMs() {
      looks += 1;
      if (isHeld) heldMs = performance.now() - since;
      return heldMs;
    },
  });
  await until(async () => looks > 12, 'many looks at a process whose output waits');
  expect(sender.seen.killed).toBe('');
  isHeld = false;
  await until(async () => sender.seen.killed !== '', 'it is ended when its output is read and brings no answer');
});
