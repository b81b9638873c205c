import { createCalls } from '../../../../src/plugins/dialects/mcp/questions/calls-in-progress.ts';
import { deferred } from '../../../../src/common/deferred.ts';

test('what comes with the answer to a call that is over belongs to no other call', async () => {
  const calls = createCalls<{ of: string }>();
  const [over, late, end] = [deferred<void>(), deferred<void>(), deferred<void>()];
  let reading: Promise<{ of: string } | undefined> | undefined;
  const first = calls.during({ of: 'Ada' }, async () => {
    // What reads the answer goes on after the end of the call.
    reading = late.promise.then(() => calls.current());
    await over.promise;
  });
  const second = calls.during({ of: 'Bob' }, () => end.promise);
  over.resolve();
  await first;
  expect(calls.current()).toEqual({ of: 'Bob' });
  late.resolve();
  expect(await reading).toBeUndefined();
  end.resolve();
  await second;
});
