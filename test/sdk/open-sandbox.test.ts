import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { openSandbox, sandboxes, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { createSandboxes } from '../../src/sdk/backends.ts';
import type { SandboxHandle } from '../../src/sandbox/api/sandbox.ts';
import { destroyExpired } from '../../src/sdk/destroy-expired.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';
import { output, until } from '../sandbox/lifecycle/support.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
const before = { ...process.env };
let home: string;
let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-open-'));
  Object.assign(process.env, { LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: testInstallation(), LONGSHORE_HOST_ID: 'test-host' });
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log });
});
afterAll(async () => {
  expect((await store.sandboxes.list({})).filter(({ state }) => state !== 'destroyed')).toEqual([]);
  process.env = before;
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});
let where: { backend: string; databaseUrl: string; log: typeof log };
beforeAll(() => {
  where = { backend: 'local', databaseUrl: database.url, log };
});
const open = (options: OpenSandboxOptions = {}) => openSandbox({ backend: 'local', databaseUrl: database.url, log, ...options });
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
  expect(names.filter((name) => ['answerMethod', 'holdMethod', 'concludeAt', 'callServer', 'runTool', 'serverMark', 'endServers'].includes(name))).toEqual([]);
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
    `Asset ${from} could not be put to x: there is no such file or directory on this worker. Correct sandbox.assets, or the file that it names.`,
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
  await expect(openSandbox({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', log })).rejects.toThrow(/^Postgres cannot be reached: .* Check DATABASE_URL/);
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

describe('a handle that was closed', () => {
  const closed = { code: 'SANDBOX_CLOSED' };

  test('says so and what to do, however often it is disposed of', async () => {
    const sandbox = await open();
    await sandbox.destroy();
    await sandbox.destroy();
    await sandbox[Symbol.asyncDispose]();
    const message = `cannot be used: this handle on sandbox "${sandbox.sandboxId}" was destroyed. Open a new one: openSandbox()`;
    await expect(sandbox.run('true')).rejects.toThrow(`run ${message}`);
    await expect(sandbox.tier()).rejects.toThrow(`tier ${message}`);
    await expect(sandbox.release()).rejects.toMatchObject(closed);
    expect(() => sandbox.readFileStream('x')).toThrow(`readFileStream ${message}`);
  });

  test('was released: the sandbox is kept, also by disposing of the handle', async () => {
    const sandbox = await open();
    const { sandboxId } = sandbox;
    const running = sandbox.run('echo begun > begun; sleep 987');
    const watch = await sandbox.watch('.');
    const changes = watch[Symbol.asyncIterator]();
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    await sandbox.release();
    await sandbox.release();
    await sandbox[Symbol.asyncDispose]();
    await expect(running).rejects.toMatchObject({ code: 'DETACHED' });
    await expect(ended(changes)).resolves.toBe('over');
    await expect(sandbox.execs()).rejects.toThrow(`The sandbox itself goes on: openSandbox({ sandboxId: "${sandboxId}" })`);
    await expect(sandbox.destroy()).rejects.toMatchObject(closed);
    await using again = await open({ sandboxId });
    expect((await again.execs()).filter(({ state }) => state === 'running')).toHaveLength(1);
  });

  test('was destroyed under what it did: all of that ends and says so', async () => {
    const sandbox = await open();
    const destroyed = { code: 'SANDBOX_DESTROYED' };
    const running = sandbox.run('echo begun > begun; sleep 987');
    const pty = await sandbox.openPty({ onData: () => undefined });
    const changes = (await sandbox.watch('.'))[Symbol.asyncIterator]();
    const outcomes = Promise.all([
      expect(running).rejects.toMatchObject(destroyed),
      expect(pty.ended).rejects.toMatchObject(destroyed),
      expect(ended(changes)).resolves.toBe('over'),
    ]);
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    await sandbox.destroy();
    await outcomes;
    await expect(pty.write('x')).rejects.toMatchObject(closed);
  });

  test('stop ends what runs, and says that it does not run on', async () => {
    await using sandbox = await open();
    const running = sandbox.run('echo begun > begun; sleep 987');
    const stopped = expect(running).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    expect(await sandbox.stop()).toBe('stopped');
    await stopped;
    expect(await sandbox.execs()).toMatchObject([{ state: 'lost' }]);
  });
});

/** Whether an iterator comes to an end, by an error or not. */
async function ended(iterator: AsyncIterator<unknown>): Promise<'over'> {
  try {
    while ((await iterator.next()).done !== true);
  } catch {
    return 'over';
  }
  return 'over';
}

test('sandboxes are listed, looked at, put to rest and destroyed by their ids, each tenant its own', async () => {
  await using one = await open({ tenantId: 'listing', metadata: { name: 'one' } });
  await using two = await open({ tenantId: 'listing' });
  await using other = await open({ tenantId: 'another' });
  const mine = { ...where, tenantId: 'listing' };
  expect((await sandboxes.list(mine)).map(({ sandboxId }) => sandboxId)).toEqual([one.sandboxId, two.sandboxId]);
  expect(await sandboxes.get(one.sandboxId, mine).info()).toMatchObject({ metadata: { name: 'one' }, tier: 'running' });
  expect(await sandboxes.get(one.sandboxId, mine).stop()).toBe('stopped');
  expect(await sandboxes.list({ ...mine, tier: 'stopped' })).toMatchObject([{ sandboxId: one.sandboxId }]);
  await sandboxes.get(two.sandboxId, mine).destroy();
  await sandboxes.get(two.sandboxId, mine).destroy();
  await expect(two.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(sandboxes.get(other.sandboxId, mine).destroy()).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  await expect(sandboxes.list({ tenant: 'x' } as object)).rejects.toThrow('sandboxes.list: there is no option "tenant". Did you mean tenantId?');
  expect(() => sandboxes.get(5 as unknown as string)).toThrow('sandboxes.get.sandboxId: 5 is not the id of a sandbox');
});

test('a sandbox is copied, restored and forked', async () => {
  await using sandbox = await open({ backend: 'docker' });
  await sandbox.writeFile('kept', 'yes');
  const { snapshotId } = await sandbox.snapshot({ name: 'first' });
  const there = { ...where, backend: 'docker' };
  expect(await sandboxes.snapshots({ ...there, sandboxId: sandbox.sandboxId })).toMatchObject([{ snapshotId, name: 'first' }]);
  await using restored = await sandboxes.restore(snapshotId, there);
  expect(await output(restored, 'cat kept')).toBe('yes');
  const [forkId = ''] = await sandboxes.get(sandbox.sandboxId, there).fork();
  await using forked = await open({ sandboxId: forkId, backend: 'docker' });
  expect(await output(forked, 'cat kept')).toBe('yes');
  expect((await forked.info()).expiresAt).toBeDefined();
  expect(await forked.metrics()).toMatchObject({ sandboxId: forkId, processes: expect.any(Number) as number });
  await sandboxes.removeSnapshot(snapshotId, there);
  await expect(sandboxes.removeSnapshot(snapshotId, there)).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
});

describe('the hosts that a running sandbox may reach', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer((_request, response) => response.end('from outside')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    process.env['LONGSHORE_EGRESS_ADDRESSES'] = '127.0.0.1/32';
  });
  afterAll(async () => {
    delete process.env['LONGSHORE_EGRESS_ADDRESSES'];
    server.close();
    await once(server, 'close');
  });
  const ask = (sandbox: SandboxHandle) => output(sandbox, `curl -s http://127.0.0.1:${port}/ --proxy "$http_proxy" --noproxy "" || true`);
  const nothingListed = () => `Longshore egress: 127.0.0.1:${port}: this host is not on the list of the sandbox`;

  test('are changed over its handle', async () => {
    await using sandbox = await open({ backend: 'docker', egress: ['example.org'] });
    expect(await ask(sandbox)).toBe(nothingListed());
    await sandbox.setEgress([{ host: '127.0.0.1', ports: [port] }]);
    expect(await ask(sandbox)).toBe('from outside');
    expect((await sandbox.info()).egress).toEqual([{ host: '127.0.0.1', ports: [port] }]);
    await sandbox.setEgress([]);
    expect(await ask(sandbox)).toBe(nothingListed());
  });

  test('are changed by its id, and that holds for the handle of another process from the next connection on', async () => {
    await using sandbox = await open({ backend: 'docker', egress: [] });
    const there = { ...where, backend: 'docker' };
    expect(await ask(sandbox)).toBe(nothingListed());
    await sandboxes.get(sandbox.sandboxId, there).setEgress([{ host: '127.0.0.1', ports: [port] }]);
    expect(await ask(sandbox)).toBe('from outside');
    await sandboxes.get(sandbox.sandboxId, there).setEgress([]);
    expect(await ask(sandbox)).toBe(nothingListed());
    await expect(sandboxes.get(sandbox.sandboxId, there).setEgress(['a b'])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(sandboxes.get('sbx_none', there).setEgress([])).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  test('are read again by one that had none when it was opened', async () => {
    await using sandbox = await open({ backend: 'docker' });
    await sandboxes.get(sandbox.sandboxId, { ...where, backend: 'docker' }).setEgress([{ host: '127.0.0.1', ports: [port] }]);
    await until(async () => (await ask(sandbox)) === 'from outside', 'the rules are read again');
  });
});

test('a sandbox is frozen, woken and archived by its id, also while a handle has it, and any use brings it back', async () => {
  await using sandbox = await open({ backend: 'docker' });
  const byId = sandboxes.get(sandbox.sandboxId, { ...where, backend: 'docker' });
  await sandbox.writeFile('kept', 'yes');
  expect(await byId.freeze()).toBe('frozen');
  expect(await byId.tier()).toBe('frozen');
  expect(await byId.wake()).toBe('running');
  expect(await byId.freeze({ mode: 'pause' })).toBe('frozen');
  expect(await output(sandbox, 'cat kept')).toBe('yes');
  expect(await byId.archive()).toBe('archived');
  expect(await byId.tier()).toBe('archived');
  expect(await output(sandbox, 'cat kept')).toBe('yes');
  await byId.destroy();
  await expect(byId.freeze()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.wake()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.archive()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.setEgress([])).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
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
