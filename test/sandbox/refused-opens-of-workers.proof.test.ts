import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import { output } from './lifecycle/support.ts';
import { LONG_MS, endAll, failEverywhere, faults, nothingLeft, refused, useFaults, worker } from './refusals.ts';

useFaults();

describe('a refused open of a worker leaves nothing', () => {
  let sandboxes: Sandboxes;
  let count = 0;
  const owner = () => ({ sandboxId: `sbx_refused_${(count += 1)}`, tenantId: 'tenant' });
  beforeEach(() => {
    sandboxes = worker();
  });
  afterEach(async () => sandboxes[Symbol.asyncDispose]());

  test(
    'at whichever call engine or database fail',
    async () => {
      expect(
        await failEverywhere(
          () => sandboxes.open(owner(), {}),
          () => endAll(sandboxes),
        ),
      ).toBeGreaterThan(5);
    },
    LONG_MS,
  );

  test(
    'of two at once for one id where one is refused: the other works, and is not the poorer for it',
    async () => {
      const same = owner();
      faults.arm();
      await sandboxes.open(same, {});
      const { calls } = faults;
      await endAll(sandboxes);
      for (const name of ['engine.createAttached', 'engine.start', 'sandboxes.change']) {
        faults.arm(calls.indexOf(name), 'after');
        const opened = await Promise.allSettled([sandboxes.open(same, {}), sandboxes.open(same, {})]);
        faults.arm();
        const handles = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value.handle] : []));
        for (const handle of handles) expect(await output(handle, 'echo works')).toBe('works');
        await endAll(sandboxes);
        await nothingLeft(`two at once, ${name}`);
      }
    },
    LONG_MS,
  );

  test.each(['engine.createAttached', 'engine.start', 'sandboxes.change'])('when the worker ends during %s', async (name) => {
    let disposing: Promise<void> | undefined;
    faults.onCall = (call) => {
      if (call === name) disposing ??= sandboxes[Symbol.asyncDispose]();
    };
    await refused(sandboxes.open(owner(), {}), { code: 'SANDBOX_UNREACHABLE' });
    await disposing;
    await nothingLeft(`disposed at ${name}`);
  });

  test.each(['engine.createAttached', 'engine.start', 'sandboxes.change'])('when the sandbox is destroyed during %s', async (name) => {
    const same = owner();
    let destroying: Promise<void> | undefined;
    const other = worker();
    faults.onCall = (call) => {
      if (call !== name) return;
      faults.onCall = () => undefined;
      destroying = other.destroy(same.sandboxId);
    };
    await sandboxes.open(same, {}).catch(() => undefined);
    await destroying;
    await endAll(sandboxes);
    await other[Symbol.asyncDispose]();
    await nothingLeft(`destroyed at ${name}`);
  });
});
