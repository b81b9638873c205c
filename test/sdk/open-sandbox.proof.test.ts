import { loadConfig } from '../../src/platform/config.ts';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSandbox, sandboxes, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { createSandboxes } from '../../src/sdk/backends.ts';
import { destroyExpired } from '../../src/sdk/destroy-expired.ts';
import { output } from '../sandbox/lifecycle/support.ts';
import { home, log, open, store, useSandboxes, where } from './sandboxes.ts';

useSandboxes();

/** What a worker does from time to time. */
async function reap(): Promise<string[]> {
  await using sandboxes = await createSandboxes({ config: { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'local' }, store, log });
  return destroyExpired({ store, sandboxes, log });
}

test.each(['docker', 'local'])('a sandbox of %s works without a conversation, and is destroyed with its handle', async (backend) => {
  let sandboxId: string;
  {
    await using sandbox = await open({ backend });
    ({ sandboxId } = sandbox);
    expect(await output(sandbox, 'echo works')).toBe('works');
    expect(await sandbox.freeze()).toBe('frozen');
    expect(await sandbox.tier()).toBe('frozen');
    expect(await output(sandbox, 'echo awake')).toBe('awake');
  }
  expect((await store.sandboxes.get(sandboxId))?.state).toBe('destroyed');
});

test('its handle has what users do with a sandbox, and not what only a worker does', async () => {
  await using sandbox = await open();
  const names = Object.keys(sandbox);
  expect(names).toEqual(expect.arrayContaining(['run', 'readFile', 'runCode', 'openPty', 'freeze', 'destroy']));
  expect(
    names.filter((name) =>
      ['answerMethod', 'holdMethod', 'concludeAt', 'callServer', 'runTool', 'serverMark', 'endServers', 'createCheckpoint'].includes(name),
    ),
  ).toEqual([]);
});

test('one that was released is found again by its id, and its time begins anew', async () => {
  const first = await open({ ttlMs: 100_000 });
  await first.writeFile('kept', 'yes');
  const before = (await store.sandboxes.get(first.sandboxId))?.expiresAt ?? '';
  await first.release();
  await using again = await open({ sandboxId: first.sandboxId, ttlMs: 200_000 });
  expect(again.sandboxId).toBe(first.sandboxId);
  expect(await again.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
  const after = (await store.sandboxes.get(first.sandboxId))?.expiresAt ?? '';
  expect(Date.parse(after) - Date.parse(before)).toBeGreaterThanOrEqual(100_000);
});

test('an unknown id is an error and never a new sandbox, and so is that of another tenant', async () => {
  const missing = { code: 'SANDBOX_NOT_FOUND', message: 'No sandbox "sbx_none". List them with: longshore sandbox ls' };
  await expect(open({ sandboxId: 'sbx_none' })).rejects.toMatchObject(missing);
  expect(await store.sandboxes.get('sbx_none')).toBeUndefined();
  await using mine = await open({ tenantId: 'mine' });
  await expect(open({ sandboxId: mine.sandboxId, tenantId: 'other' })).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
});

test('one whose time is over is destroyed by the next who looks; keepalive puts that off', async () => {
  await using kept = await open({ ttlMs: 10_000 });
  await using short = await open({ ttlMs: 1 });
  await kept.keepalive(600_000);
  await kept.keepalive(1);
  expect(await reap()).toEqual([short.sandboxId]);
  expect(await reap()).toEqual([]);
  expect((await store.sandboxes.get(short.sandboxId))?.state).toBe('destroyed');
  await expect(short.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  expect(await output(kept, 'echo lives')).toBe('lives');
});

test('assets are there from the start, and one that is missing leaves no sandbox behind', async () => {
  await writeFile(join(home, 'data.csv'), 'a,b');
  await using sandbox = await open({ assets: [{ from: join(home, 'data.csv'), to: '/home/user/data/data.csv' }] });
  expect(await output(sandbox, 'cat data/data.csv')).toBe('a,b');
  const from = join(home, 'none');
  await expect(open({ assets: [{ from, to: 'x' }] })).rejects.toThrow(
    `Asset ${from} could not be copied to x: there is no such file or directory on this worker. Correct sandbox.assets, or the file that it names.`,
  );
});

test('where no template declares users there is but one for commands', async () => {
  await using sandbox = await open();
  expect(await sandbox.run('echo ok', { user: 'user' })).toMatchObject({ exitCode: 0 });
  await expect(sandbox.run('id', { user: 'root' })).rejects.toThrow(
    `Sandbox "${sandbox.sandboxId}" has no user "root" for commands, only user. Commands of a sandbox cannot run as root; put what needs root under setup in a template`,
  );
});

test('an aborted open rejects with the reason, and a signal that is none is named', async () => {
  await expect(openSandbox({ signal: AbortSignal.abort(new Error('enough')), log })).rejects.toMatchObject({
    code: 'INTERRUPTED',
    cause: { message: 'enough' },
  });
  await expect(openSandbox({ signal: 'soon' as never, log })).rejects.toThrow(
    'openSandbox.signal: "soon" is not an AbortSignal. Give the signal of an AbortController, or AbortSignal.timeout(milliseconds)',
  );
});

test('without a database it says what is missing', async () => {
  await expect(openSandbox({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', log })).rejects.toThrow(/^Postgres cannot be used: .* Check DATABASE_URL/);
});

describe('a refused option', () => {
  const leftovers = async () => [(await store.sandboxes.list({})).length, await readdir(join(home, 'local'), { recursive: true }).catch(() => [])];

  test('leaves nothing, and is named', async () => {
    const before = await leftovers();
    const refused = (given: unknown, message: string) => expect(open(given as OpenSandboxOptions)).rejects.toThrow(message);
    await refused({ ttlMs: Infinity }, 'openSandbox.ttlMs: Infinity is not a whole number of milliseconds from 1 to 3155760000000');
    await refused({ cpus: 0 }, 'openSandbox.cpus: 0 is not a number from 0.05 to 1024');
    await refused({ pids: -1 }, 'openSandbox.pids: -1');
    await refused({ memory: 5 }, 'openSandbox: there is no option "memory". Did you mean memoryMb?');
    await refused({ tenantId: 'a\0' }, 'openSandbox.tenantId: "a\\u0000" has a NUL character');
    await expect(openSandbox('sbx_1' as unknown as OpenSandboxOptions)).rejects.toThrow('Call openSandbox({ sandboxId: "sbx_1" })');
    expect(await leftovers()).toEqual(before);
  });

  test('of a method is refused before the sandbox is asked', async () => {
    await using sandbox = await open();
    await expect(sandbox.keepalive(Infinity)).rejects.toThrow('keepalive.milliseconds: Infinity is not a whole number of milliseconds');
    await expect(sandbox.run('true', { timeoutMs: Number.NaN })).rejects.toThrow('run.timeoutMs: NaN is not');
    expect(() => sandbox.readFileStream('a\0')).toThrow('readFileStream.path: "a\\u0000" has a NUL character (at 1). Remove it');
    expect((await sandboxes.list(where)).map(({ sandboxId }) => sandboxId)).toContain(sandbox.sandboxId);
  });
});

test('environment, metadata and work directory hold for all that it does, and for callers that open it again', async () => {
  const first = await open({ env: { GREETING: 'hi', MORE: '1' }, metadata: { order: 7 }, workDirectory: 'in/work', diskMb: 100 });
  expect(await output(first, 'echo $GREETING $MORE; basename "$PWD"', { env: { MORE: '2' } })).toBe('hi 2\nwork');
  await first.release();
  await using again = await open({ sandboxId: first.sandboxId });
  expect((await again.runCode("import os; print(os.environ['GREETING'], os.path.basename(os.getcwd()))", { language: 'python' })).stdout).toBe('hi work\n');
  expect(await again.info()).toMatchObject({ metadata: { order: 7 }, diskMb: 100, tier: 'running', onTtl: 'destroy' });
});

test('a work directory that cannot be made is an error, and leaves no sandbox', async () => {
  const before = (await sandboxes.list(where)).length;
  await expect(open({ workDirectory: '/etc/work' })).rejects.toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('/etc/work') as unknown });
  expect(await sandboxes.list(where)).toHaveLength(before);
});

test('one that is to be stopped when its time is over keeps its files', async () => {
  await using sandbox = await open({ ttlMs: 1, onTtl: 'stop' });
  await sandbox.writeFile('kept', 'yes');
  expect(await reap()).toEqual([]);
  expect(await sandbox.tier()).toBe('stopped');
  expect(await sandbox.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
  await reap();
  expect(await sandbox.tier()).toBe('stopped');
  await sandbox.keepalive(600_000);
  expect(await output(sandbox, 'cat kept')).toBe('yes');
  await reap();
  expect(await sandbox.tier()).toBe('running');
});

test('one that is prolonged when its end has been decided stays; one that is destroyed cannot be prolonged', async () => {
  await using sandbox = await open({ backend: 'local', ttlMs: 1 });
  const { sandboxId } = sandbox;
  await using worker = await createSandboxes({ config: { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'local' }, store, log });
  const get: typeof store.sandboxes.get = async (id) => {
    const row = await store.sandboxes.get(id);
    if (id === sandboxId) await sandbox.keepalive(600_000);
    return row;
  };
  expect(await destroyExpired({ store: { sandboxes: { ...store.sandboxes, get } }, sandboxes: worker, log })).not.toContain(sandboxId);
  expect(await sandbox.tier()).toBe('running');
  await sandboxes.get(sandboxId, where).destroy();
  await expect(sandboxes.get(sandboxId, where).keepalive(600_000)).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
});

test.each(['stop', 'hibernate'] as const)('one that is prolonged when it was decided to %s it goes on with its commands', async (onTtl) => {
  await using sandbox = await open({ backend: 'local', ttlMs: 1, onTtl });
  const { sandboxId } = sandbox;
  await sandbox.start('sleep 600', { execId: 'work' });
  await using worker = await createSandboxes({ config: { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'local' }, store, log });
  const get: typeof store.sandboxes.get = async (id) => {
    const row = await store.sandboxes.get(id);
    if (id === sandboxId) await sandbox.keepalive(600_000);
    return row;
  };
  await destroyExpired({ store: { sandboxes: { ...store.sandboxes, get } }, sandboxes: worker, log });
  expect(await sandbox.tier()).toBe('running');
  expect(await sandbox.execs()).toMatchObject([{ execId: 'work', state: 'running' }]);
});

test('one that is to be hibernated when its time is over is put to disk, or stopped where that cannot be', async () => {
  await using sandbox = await open({ backend: 'docker', runtime: 'auto', ttlMs: 1, onTtl: 'hibernate' });
  await sandbox.writeFile('kept', 'yes');
  const config = { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'docker' };
  await using worker = await createSandboxes({ config, store, log });
  expect(await destroyExpired({ store, sandboxes: worker, log })).toEqual([]);
  const { checkpoint } = await worker.capabilities();
  expect(await sandbox.tier()).toBe(checkpoint ? 'hibernated' : 'stopped');
  // Once is enough.
  expect((await store.sandboxes.listExpired()).map(({ sandboxId }) => sandboxId)).not.toContain(sandbox.sandboxId);
  expect(await output(sandbox, 'cat kept')).toBe('yes');
});
