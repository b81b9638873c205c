import { registerSandboxBackend } from '../../src/sandbox.ts';
import { createLocalSandboxes } from '../../src/sandbox/lifecycle/local-sandboxes.ts';
import { open, store, useSandboxes } from './sandboxes.ts';

useSandboxes();

test('the time of a sandbox that is opened again begins before it is brought up, so that it does not expire meanwhile', async () => {
  const seen: string[] = [];
  registerSandboxBackend('watched', ({ store: rows, ...parts }) => {
    const sandboxes = createLocalSandboxes({ store: rows, ...parts });
    return {
      ...sandboxes,
      async open(owner, options) {
        seen.push((await rows.sandboxes.get(owner.sandboxId))?.expiresAt ?? '');
        return sandboxes.open(owner, options);
      },
    };
  });
  const first = await open({ ttlMs: 100_000 });
  const { sandboxId } = first;
  await first.release();
  const before = Date.now();
  {
    await using again = await open({ backend: 'watched', sandboxId, ttlMs: 500_000 });
    expect(again.sandboxId).toBe(sandboxId);
  }
  expect(seen).toHaveLength(1);
  expect(Date.parse(seen[0]!)).toBeGreaterThanOrEqual(before + 499_000);
  expect(await store.sandboxes.get(sandboxId)).toMatchObject({ state: 'destroyed' });
});
