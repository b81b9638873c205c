import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { abortAfter } from '../../src/common/abort-after.ts';
import { anySignal } from '../../src/common/any-signal.ts';

test('a timeout aborts although the collector runs, and so does each of the other signals', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const other = new AbortController();
  const waiting = [
    abortAfter(300),
    abortAfter(300, other.signal),
    anySignal([AbortSignal.timeout(300), other.signal]),
    anySignal([anySignal([AbortSignal.timeout(300)]), other.signal]),
  ].map((signal) => once(signal, 'abort'));
  const early = once(abortAfter(60_000, other.signal), 'abort');
  for (let round = 0; round < 2; round += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all(waiting);
  other.abort();
  await early;
});
