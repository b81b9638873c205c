import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { loadConfig } from '../../../../src/platform/config.ts';
import { isAlive, isGone } from '../../../../src/platform/process-identity.ts';
import { createSandboxes, registerSandboxBackend } from '../../../../src/sdk/backends.ts';
import { createLocalSandboxes, type LocalSandboxesOptions } from '../../../../src/sandbox/lifecycle/local-sandboxes.ts';
import type { Sandboxes } from '../../../../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../../../../src/store/open-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/databases.ts';
import { output, until } from '../../lifecycle/support.ts';

const silent = pino({ level: 'silent' });
let home: string;
let database: TestDatabase;
let store: Store;
let count = 0;
const made: Sandboxes[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-local-'));
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log: silent });
});
afterAll(async () => {
  for (const { sandboxId } of await store.sandboxes.list({})) await worker().destroy(sandboxId);
  expect(await readdir(join(home, 'local/longshore/containers'))).toEqual([]);
  expect(await readdir(join(home, 'local/longshore/volumes'))).toEqual([]);
  for (const sandboxes of made) await sandboxes[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

const newOwner = () => ({ sandboxId: `sbx_local${(count += 1)}`, tenantId: 'tenant' });
const config = () => ({ ...loadConfig(), LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: 'longshore', LONGSHORE_HOST_ID: 'test-host' });
function worker(options: Partial<LocalSandboxesOptions> = {}): Sandboxes {
  const sandboxes = createLocalSandboxes({ config: config(), store, log: silent, reapGraceMs: -60_000, ...options });
  made.push(sandboxes);
  return sandboxes;
}
const pidOf = async (sandboxId: string): Promise<number> => {
  const kept = await readFile(join(home, `local/longshore/containers/longshore-${sandboxId}/supervisor.json`), 'utf8');
  return (JSON.parse(kept) as { pid: number }).pid;
};

describe('the local backend', () => {
  test('says at every start what it is', () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }) as Logger;
    worker({ log });
    expect(lines.join('')).toContain('is for development only: commands of the model run on this machine as this user');
  });

  test('refuses production unless it is forced', () => {
    const production = { ...config(), NODE_ENV: 'production' };
    expect(() => worker({ config: production })).toThrow(
      'LONGSHORE_SANDBOX_BACKEND: "local" isolates nothing, and NODE_ENV is "production". Use "docker", or force it with LONGSHORE_LOCAL_IN_PRODUCTION=yes',
    );
    expect(() => worker({ config: { ...production, LONGSHORE_LOCAL_IN_PRODUCTION: 'yes' } })).not.toThrow();
  });

  test('takes /home/user in paths for the home of the sandbox', async () => {
    const { handle } = await worker().open(newOwner(), {});
    await handle.writeFile('/home/user/a/b', 'x');
    expect(await output(handle, 'cat ~/a/b a/b; pwd')).toMatch(/^xx.*\/volumes\/longshore-sbx_local\d+\/home$/);
    expect(await handle.glob('/home/user/a/*')).toEqual([`${await output(handle, 'pwd')}/a/b`]);
  });

  (process.geteuid?.() === 0 ? test : test.skip)('does nothing of a sandbox as root', async () => {
    const sandboxes = worker();
    const [{ handle }, { handle: other }] = [await sandboxes.open(newOwner(), {}), await sandboxes.open(newOwner(), {})];
    const target = `/etc/longshore-test-${process.pid}`;
    const refused = 'FILE_FAILED';
    const [uid, gid, groups] = (await output(handle, 'id -u; id -g; id -G')).split('\n');
    expect(Number(uid)).toBeGreaterThan(60_000);
    expect([gid, groups]).toEqual([uid, uid]);
    expect(await output(other, 'id -u')).not.toBe(uid);
    expect(await output(handle, 'stat -c %u ~')).toBe(uid);
    expect(
      await handle.run(`touch ${target} /root/x; echo x > /etc/passwd; kill -0 ${process.pid}; cat /proc/${process.pid}/environ /etc/shadow`),
    ).toMatchObject({
      exitCode: 1,
      stdout: { text: '' },
    });
    for (const [language, code] of [
      ['python', `open('${target}', 'w')`],
      ['javascript', `require('node:fs').writeFileSync('${target}', '')`],
    ] as const)
      expect(await handle.runCode(code, { language, contextId: language })).toMatchObject({ error: { message: expect.stringMatching(/permission denied/i) } });
    await writeFile(join(home, 'local-file'), 'x');
    await expect(handle.writeFile(target, 'x')).rejects.toMatchObject({ code: refused });
    await expect(handle.createDirectory(target)).rejects.toMatchObject({ code: refused });
    await expect(handle.removeFile('/etc/passwd')).rejects.toMatchObject({ code: refused });
    await expect(handle.rename('/etc/passwd', target)).rejects.toMatchObject({ code: refused });
    await expect(handle.uploadFile(join(home, 'local-file'), target)).rejects.toMatchObject({ code: refused });
    await expect(handle.readFile('/etc/shadow')).rejects.toMatchObject({ code: refused });
    let seen = '';
    const terminal = await handle.openPty({ onData: (chunk) => void (seen += Buffer.from(chunk).toString()) });
    await terminal.write(`touch ${target}; id -u; exit\n`);
    await terminal.ended;
    expect(seen).toContain(uid);
    await expect(stat(target)).rejects.toThrow('ENOENT');
  });

  test('keeps the code contexts of two sandboxes apart', async () => {
    const sandboxes = worker();
    const [first, second] = [await sandboxes.open(newOwner(), {}), await sandboxes.open(newOwner(), {})];
    await first.handle.runCode('x = 1', { language: 'python', contextId: 'same' });
    expect(await second.handle.runCode('x', { language: 'python', contextId: 'same' })).toMatchObject({ error: { type: 'NameError' } });
  });

  test('its commands outlive the worker, and another one goes on with them', async () => {
    const owner = newOwner();
    const first = worker();
    const { handle } = await first.open(owner, {});
    await handle.start('echo begun; while [ ! -e go ]; do sleep 0.02; done; echo ended', { execId: 'long', timeoutMs: 0 });
    await first[Symbol.asyncDispose]();
    const opened = await worker().open(owner, {});
    expect(opened.lost).toBeUndefined();
    await opened.handle.writeFile('go', '');
    expect(await opened.handle.attach('long')).toMatchObject({ exitCode: 0, stdout: { text: 'begun\nended\n' } });
  });

  test('ten callers in two workers get one supervisor', async () => {
    const owner = newOwner();
    const workers = [worker(), worker()];
    const opened = await Promise.all(Array.from({ length: 10 }, (_, index) => workers[index % 2]!.open(owner, {})));
    const started = await Promise.all(opened.map(({ handle }) => handle.start('sleep 600', { execId: 'one', timeoutMs: 0 })));
    // A second supervisor would take the other's command for one that was lost.
    expect(new Set(started.map(({ state, startedAt }) => `${state} ${startedAt}`)).size).toBe(1);
    expect(started[0]?.state).toBe('running');
    expect((await store.sandboxes.get(owner.sandboxId))?.state).toBe('running');
  });

  test('a supervisor that was killed is a lost sandbox; what it left is ended, its files stay, and the loss is told', async () => {
    const owner = newOwner();
    const sandboxes = worker();
    const { handle } = await sandboxes.open(owner, {});
    await handle.writeFile('kept', 'yes');
    const seconds = `4321.${process.pid}`;
    await handle.start(`sleep ${seconds}`, { timeoutMs: 0 });
    // Its first thread ends, and another runs on.
    await handle.writeFile(
      'headless.py',
      `import ctypes, os, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
open('headless', 'w').write(str(os.getpid()))
ctypes.CDLL(None).syscall(93 if platform.machine() == 'aarch64' else 60, 0)`,
    );
    await handle.start('exec python3 headless.py', { timeoutMs: 0 });
    const headless = async () => Number(await handle.readFile('headless', { encoding: 'utf-8' }).catch(() => 0));
    await until(
      async () => (await headless()) > 0 && /^State:\s+Z/m.test(await readFile(`/proc/${await headless()}/status`, 'utf8')),
      'it has no first thread',
    );
    const left = await headless();
    const supervisor = await pidOf(owner.sandboxId);
    process.kill(supervisor, 'SIGKILL');
    await until(async () => !isAlive(supervisor), 'the supervisor has ended');
    expect(await worker().reap()).toMatchObject({ lost: [owner.sandboxId] });
    const again = await sandboxes.open(owner, {});
    expect(await isGone(String(left))).toBe(true);
    expect(again.lost).toContain(`\`sleep ${seconds}\``);
    expect(again.lost).toContain('its container ended by itself. The files');
    expect(await output(again.handle, `cat kept; pgrep -fc "[s]leep ${seconds}" || true`)).toBe('yes0');
  });

  test('what is left of an earlier sandbox of the same id is ended and replaced', async () => {
    const owner = newOwner();
    const sandboxes = worker();
    const { handle } = await sandboxes.open(owner, {});
    expect(await output(handle, 'echo first')).toBe('first');
    const pid = await pidOf(owner.sandboxId);
    // As a removal whose worker died before it came to the engine.
    await store.sandboxes.remove(owner.sandboxId);
    const again = await worker().open(owner, {});
    expect(await output(again.handle, 'echo again')).toBe('again');
    expect(isAlive(pid)).toBe(false);
  });

  test('the reaper removes what no row owns, with its processes', async () => {
    const owner = newOwner();
    const sandboxes = worker();
    await sandboxes.open(owner, {});
    const pid = await pidOf(owner.sandboxId);
    await store.sandboxes.remove(owner.sandboxId);
    expect(await sandboxes.reap()).toMatchObject({ removedContainers: [`longshore-${owner.sandboxId}`], removedVolumes: [`longshore-${owner.sandboxId}`] });
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('has no gVisor, and says so', async () => {
    await expect(worker().open(newOwner(), { runtime: 'runsc' })).rejects.toThrow('sandbox.runtime: the backend "local" has no gVisor');
    expect(await worker().capabilities()).toMatchObject({ gvisor: false, checkpoint: false });
  });

  test('makes no copies, and says so; the sandbox stays usable', async () => {
    const owner = newOwner();
    const { sandboxId } = owner;
    const sandboxes = worker();
    const { handle } = await sandboxes.open(owner, {});
    await handle.writeFile('kept', 'yes');
    const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('sandbox: the backend "local" makes no copies of sandboxes') };
    await expect(sandboxes.snapshot(sandboxId)).rejects.toMatchObject(refused);
    await expect(sandboxes.fork(sandboxId, 1)).rejects.toMatchObject(refused);
    await expect(sandboxes.archive(sandboxId)).rejects.toMatchObject(refused);
    expect(await sandboxes.snapshots()).toEqual([]);
    expect(await output((await sandboxes.open(owner, {})).handle, 'cat kept')).toBe('yes');
  });
});

describe('a backend of your own', () => {
  test('is registered by name, and used by that name', async () => {
    const opened: string[] = [];
    registerSandboxBackend('counted', (parts) => {
      const inner = createLocalSandboxes({ ...parts, reapGraceMs: -60_000 });
      return { ...inner, open: (owner, options) => (opened.push(owner.sandboxId), inner.open(owner, options)) };
    });
    await using sandboxes = await createSandboxes({ config: { ...config(), LONGSHORE_SANDBOX_BACKEND: 'counted' }, store, log: silent });
    const owner = newOwner();
    const { handle } = await sandboxes.open(owner, {});
    expect(await output(handle, 'echo works')).toBe('works');
    expect(opened).toEqual([owner.sandboxId]);
    expect(() => registerSandboxBackend('counted', () => sandboxes)).toThrow('there is a backend "counted" already');
  });

  test('an unknown name is refused with the known ones', async () => {
    const named = (name: string) => createSandboxes({ config: { ...config(), LONGSHORE_SANDBOX_BACKEND: name }, store, log: silent });
    await expect(named('docekr')).rejects.toThrow('"docekr" is not a known backend. Known: docker, local');
    await expect(named('./no-such-backend.ts')).rejects.toThrow('"./no-such-backend.ts" cannot be loaded');
  });
});
