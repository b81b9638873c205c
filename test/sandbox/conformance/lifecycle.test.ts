import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

describe.each(BACKENDS)('rest and wake on %s', (_name, open) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await open();
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  const count = async (execId: string) => (await backend.handle.execs()).find((exec) => exec.execId === execId)?.stdoutBytes ?? 0;

  test('a frozen sandbox stands still, and any access wakes it with its processes', async () => {
    const { sandboxes, handle, sandboxId } = backend;
    await handle.start('while :; do echo tick; sleep 0.02; done', { execId: 'ticks', timeoutMs: 0 });
    await until(async () => (await count('ticks')) > 0, 'it ticks');
    expect(await sandboxes.freeze(sandboxId)).toBe('frozen');
    expect(await sandboxes.tier(sandboxId)).toBe('frozen');
    const before = await count('ticks');
    expect(await sandboxes.tier(sandboxId)).toBe('running');
    await until(async () => (await count('ticks')) > before, 'it ticks on');
    expect(await handle.kill('ticks')).toBe(true);
  });

  test('a command whose sandbox was frozen keeps its time limit', async () => {
    const { sandboxes, handle, sandboxId } = backend;
    const ended = handle.run('while [ ! -e go ]; do sleep 0.02; done; echo done', { execId: 'limited', timeoutMs: 5000 });
    await until(async () => (await handle.execs()).some(({ execId }) => execId === 'limited'), 'it runs');
    await sandboxes.freeze(sandboxId);
    await sandboxes.wake(sandboxId);
    await handle.writeFile('go', '');
    expect(await ended).toMatchObject({ status: 'exited', stdout: { text: 'done\n' } });
  });

  test('a stopped sandbox keeps its files, the record of its commands, and says what was cut off', async () => {
    const { sandboxes, handle, sandboxId } = backend;
    await handle.writeFile('kept', 'yes');
    await handle.run('echo once >> runs', { execId: 'recorded' });
    expect(await sandboxes.stop(sandboxId)).toBe('stopped');
    expect(await sandboxes.stop(sandboxId)).toBe('stopped');
    expect(await handle.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
    expect(await handle.run('echo once >> runs', { execId: 'recorded' })).toMatchObject({ status: 'exited', exitCode: 0 });
    expect(await handle.readFile('runs', { encoding: 'utf-8' })).toBe('once\n');
  });

  test('a frozen sandbox is stopped as one that runs, and wakes without its processes', async () => {
    const { sandboxes, handle, sandboxId } = backend;
    await handle.writeFile('kept', 'yes');
    await handle.start('sleep 600', { execId: 'asleep', timeoutMs: 0 });
    await sandboxes.freeze(sandboxId);
    expect(await sandboxes.stop(sandboxId)).toBe('stopped');
    expect(await sandboxes.wake(sandboxId)).toBe('running');
    expect(await handle.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
    expect((await handle.execs()).find(({ execId }) => execId === 'asleep')).toMatchObject({ state: 'lost' });
  });

  test('hibernation tells the tier that was really reached, as the capabilities foretold', async () => {
    const { sandboxes, handle, sandboxId } = backend;
    await handle.writeFile('before', 'kept');
    const canStay = await sandboxes.hibernate(sandboxId, { otherwise: 'stay' });
    if (!(await sandboxes.capabilities()).checkpoint) expect(canStay).toBe('running');
    expect(['running', 'hibernated']).toContain(canStay);
    expect(await sandboxes.wake(sandboxId)).toBe('running');
    expect(await handle.readFile('before', { encoding: 'utf-8' })).toBe('kept');
  });

  test('opening it again finds it; destroyed, it is gone for good', async () => {
    const { sandboxes, sandboxId } = backend;
    const { handle, lost } = await sandboxes.open({ sandboxId, tenantId: 'tenant' }, {});
    expect(lost).toBeUndefined();
    expect(await handle.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
    await sandboxes.destroy(sandboxId);
    await sandboxes.destroy(sandboxId);
    expect(await sandboxes.tier(sandboxId)).toBe('destroyed');
    await expect(sandboxes.open({ sandboxId, tenantId: 'tenant' }, {})).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
    await expect(handle.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  });
});
