import { createTestSandboxes, until, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const isPaused = async (sandboxId: string) => (await parts.docker.getContainer(parts.containerName(sandboxId)).inspect()).State.Paused;

/** A running command; it continues for `seconds`, also when the sandbox is frozen meanwhile. */
async function busy(options: { worker?: TestSandboxes['sandboxes'] } = {}) {
  const owner = parts.newOwner();
  const { handle } = await (options.worker ?? parts.sandboxes).open(owner, {});
  let seen = '';
  const running = handle.run('echo begun; until test -e go; do sleep 0.05; done; echo ended', { onStdout: (chunk) => (seen += chunk.toString()) });
  await until(async () => seen.includes('begun'), 'the command has begun');
  return { ...owner, handle, running };
}

/** A worker; what `meanwhile` is given happens once, before or after the next read of a row. */
function lookedAt(moment: 'before' | 'after') {
  const tiers: string[] = [];
  let next: (() => Promise<string>) | undefined;
  const happen = async () => {
    const now = next;
    next = undefined;
    if (now !== undefined) tiers.push(await now());
  };
  const get: typeof parts.store.sandboxes.get = async (sandboxId) => {
    if (moment === 'before') await happen();
    const row = await parts.store.sandboxes.get(sandboxId);
    if (moment === 'after') await happen();
    return row;
  };
  const worker = parts.another({ store: { ...parts.store, sandboxes: { ...parts.store.sandboxes, get } } });
  return { worker, tiers, meanwhile: (happens: () => Promise<string>) => void (next = happens) };
}

describe('an idle freeze', () => {
  test('is held off by a command that a caller in this process waits for, and says so', async () => {
    const { sandboxId, handle, running } = await busy();
    expect(await parts.sandboxes.freeze(sandboxId)).toBe('running');
    expect(await isPaused(sandboxId)).toBe(false);
    await handle.writeFile('go', '');
    expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
    expect(await parts.sandboxes.freeze(sandboxId)).toBe('frozen');
  });

  test('of another process is undone by the process that waits', async () => {
    const { sandboxId, handle, running } = await busy();
    // It is woken within a second, on a busy machine before the freeze has looked at it again.
    expect(['frozen', 'running']).toContain(await parts.another().freeze(sandboxId));
    await until(async () => !(await isPaused(sandboxId)) && (await parts.store.sandboxes.get(sandboxId))?.state === 'running', 'it runs again by itself');
    await handle.writeFile('go', '');
    expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
  });

  test('is not held off by a watch or by a command without a follower', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.start('sleep 1000', { timeoutMs: 0 });
    await using watch = await handle.watch('/home/user');
    expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('frozen');
    expect(await isPaused(owner.sandboxId)).toBe(true);
    await handle.writeFile('seen', '');
    for await (const event of watch) {
      expect(event).toMatchObject({ type: 'created' });
      break;
    }
  });
});

test('a pause stops what runs until something wakes the sandbox, even if a caller waits for it', async () => {
  const { sandboxId, handle, running } = await busy();
  const other = parts.another();
  expect(await other.freeze(sandboxId, { mode: 'pause' })).toBe('frozen');
  const early = await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1500, 'waits'))]);
  expect([early, await isPaused(sandboxId)]).toEqual(['waits', true]);
  // An idle freeze does not make less of it.
  expect(await parts.sandboxes.freeze(sandboxId)).toBe('frozen');
  await handle.writeFile('go', '');
  expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
});

test('a pause that comes after an operation began, and before the look of that operation, stays until the next operation', async () => {
  const { worker, tiers, meanwhile } = lookedAt('before');
  const { sandboxId, handle, running } = await busy({ worker });
  const { execId } = (await handle.execs())[0]!;
  meanwhile(() => parts.sandboxes.freeze(sandboxId, { mode: 'pause' }));
  const second = handle.attach(execId);
  await until(async () => tiers.length === 1, 'it was paused before the look');
  const early = await Promise.race([running, second, new Promise((resolve) => setTimeout(resolve, 1500, 'waits'))]);
  expect([tiers, early, await isPaused(sandboxId)]).toEqual([['frozen'], 'waits', true]);
  await handle.writeFile('go', '');
  expect(await Promise.all([running, second])).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
});

test('a pause that comes after a look at a busy sandbox, and before what follows from it, stays', async () => {
  const { worker, tiers, meanwhile } = lookedAt('after');
  const { sandboxId, handle, running } = await busy({ worker });
  meanwhile(() => parts.sandboxes.freeze(sandboxId, { mode: 'pause' }));
  // So it does not answer, and is looked at. It is frozen already when another look was earlier.
  await parts.docker
    .getContainer(parts.containerName(sandboxId))
    .pause()
    .catch(() => undefined);
  await until(async () => tiers.length === 1, 'it was paused after the look');
  const early = await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1500, 'waits'))]);
  expect([tiers, early, await isPaused(sandboxId)]).toEqual([['frozen'], 'waits', true]);
  await handle.writeFile('go', '');
  expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
});

test('a sandbox that is stopped when an operation has ended is not woken again by the wake of that operation', async () => {
  const owner = parts.newOwner();
  let next: (() => Promise<unknown>) | undefined;
  const change: typeof parts.store.sandboxes.change = async (...given) => {
    const now = next;
    next = undefined;
    await now?.();
    return parts.store.sandboxes.change(...given);
  };
  const worker = parts.another({ store: { ...parts.store, sandboxes: { ...parts.store.sandboxes, change } } });
  const { handle } = await worker.open(owner, {});
  expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('frozen');
  const stopped = new Promise((resolve) => {
    // The wake has thawed the container, so the operation ends, and is about to change the row.
    next = async () => {
      await running;
      resolve(await parts.sandboxes.stop(owner.sandboxId));
    };
  });
  const running = handle.run('true');
  expect(await stopped).toBe('stopped');
  // Behind the wake.
  expect(await worker.freeze(owner.sandboxId)).toBe('stopped');
  expect(await worker.tier(owner.sandboxId)).toBe('stopped');
});

test.each([
  ['stop', 'SANDBOX_LOST', 'is gone: it '],
  ['destroy', 'SANDBOX_DESTROYED', 'was destroyed'],
] as const)('a %s tells those who wait in both processes what has become of their commands', async (verb, code, words) => {
  const worker = parts.another();
  const { sandboxId, running } = await busy({ worker });
  const { handle: here } = await parts.sandboxes.open({ sandboxId, tenantId: 'tenant' }, {});
  const alsoRunning = here.run('sleep 1000', { timeoutMs: 0 });
  const outcomes = Promise.allSettled([running, alsoRunning]);
  await until(async () => (await here.execs()).length === 2, 'both run');
  await parts.sandboxes[verb](sandboxId);
  for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { code, message: expect.stringContaining(words) } });
});

test('a freeze that died between the row and the container, in either direction, does not hold up what waits', async () => {
  const { sandboxId, handle, running } = await busy();
  await parts.docker.getContainer(parts.containerName(sandboxId)).pause();
  await until(async () => !(await isPaused(sandboxId)), 'it was thawed as its row says');
  await handle.writeFile('go', '');
  expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
});
