import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openSandbox, registerSandboxBackend, sandboxes as byId, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { createEngine } from '../../src/sandbox/engine/docker/engine.ts';
import { createDockerSandboxes } from '../../src/sandbox/lifecycle/sandboxes.ts';
import type { Sandboxes } from '../../src/sandbox/api/sandbox.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';
import { expectNothingLeft, takeCensus, type Counted } from './census.ts';
import { describeWithGvisor, output } from './lifecycle/support.ts';
import { Faults, waysToFail } from './faults.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
const environment = { ...process.env };
/** Of a test that tries many failures, on a busy machine. */
const LONG_MS = 300_000;
/** Of copies, which take long, only what may leave something is tried otherwise. */
const EXHAUSTIVE = process.env['LONGSHORE_TEST_EXHAUSTIVE'] === 'yes';
const BACKEND = 'docker-with-faults';
const faults = new Faults();
let place: string;
let database: TestDatabase;
let store: Store;
let counted: Counted;
let before: string[];

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'longshore-refused-'));
  const [home, temporary] = [join(place, 'home'), join(place, 'tmp')];
  for (const directory of [home, temporary]) await mkdir(directory, { mode: 0o700 });
  const installation = testInstallation();
  Object.assign(process.env, { LONGSHORE_HOME: home, TMPDIR: temporary, LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: 'test-host' });
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log, poolSize: 1 });
  registerSandboxBackend(BACKEND, ({ store: opened, ...parts }) =>
    createDockerSandboxes({ ...parts, store: faults.store(opened), engine: faults.engine(createEngine(parts.config.DOCKER_HOST)) }),
  );
  counted = { installation, databaseUrl: database.url, directories: [home, temporary] };
  // Opened once: what is kept for all that follow, such as a connection to the database, is there from now on.
  await (await open()).destroy();
  await store.sandboxes.list({});
  for (const { sandboxId } of await store.sandboxes.list({})) await store.sandboxes.remove(sandboxId);
  before = await takeCensus(counted);
});
afterAll(async () => {
  process.env = environment;
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(place, { recursive: true, force: true });
});
afterEach(() => {
  faults.arm();
  faults.onCall = () => undefined;
});

const open = (options: OpenSandboxOptions = {}) => openSandbox({ backend: BACKEND, databaseUrl: database.url, log, ...options });
const nothingLeft = (what: string) => expectNothingLeft(counted, before, what);
const refused = async (opening: Promise<unknown>, error: object) => expect(opening).rejects.toMatchObject(error);
const worker = (): Sandboxes =>
  createDockerSandboxes({ config: loadConfig(), log, store: faults.store(store), engine: faults.engine(createEngine(loadConfig().DOCKER_HOST)) });
/** What is made well, in spite of the fault, is ended as a user would. */
async function endAll(sandboxes: Sandboxes): Promise<void> {
  for (const { snapshotId } of await store.snapshots.list({})) await sandboxes.removeSnapshot(snapshotId);
  for (const { sandboxId, state } of await store.sandboxes.list({})) {
    if (state !== 'destroyed') await sandboxes.destroy(sandboxId);
    await store.sandboxes.remove(sandboxId);
  }
}

/** Makes each call of `work` fail once, in each way; whatever it makes of that, `work` leaves nothing when it rejects. */
async function failEverywhere(
  work: () => Promise<unknown>,
  end: () => Promise<unknown>,
  { check = nothingLeft, which = 'all' }: { check?: (what: string) => Promise<void>; which?: 'all' | 'lasting' } = {},
): Promise<number> {
  faults.arm();
  await work();
  const ways = waysToFail(faults.calls, EXHAUSTIVE ? 'all' : which);
  await end();
  let rejected = 0;
  for (const { number, name, when } of ways) {
    faults.arm(number, when);
    const isDone = await work().then(
      () => true,
      () => false,
    );
    faults.arm();
    if (isDone) await end();
    else rejected += 1;
    await check(`${when} call ${number}, ${name}`);
  }
  return rejected;
}

describe('a refused openSandbox leaves nothing', () => {
  test('where an option is not valid, or names something that does not exist', async () => {
    await refused(open({ cpus: 0 }), { code: 'INVALID_ARGUMENT' });
    await refused(open({ template: 'none' }), { code: 'TEMPLATE_NOT_FOUND' });
    await refused(open({ image: 'longshore-none:none' }), { code: 'IMAGE_NOT_FOUND' });
    await refused(open({ secrets: { TOKEN: '${env.LONGSHORE_TEST_NOT_SET}' } }), { code: 'CONFIG_INVALID' });
    await refused(open({ assets: [{ from: '/none', to: 'x' }] }), { code: 'ASSETS_FAILED' });
    await refused(open({ assets: [{ from: '/etc/hostname', to: '/proc/none/x' }] }), {});
    await refused(open({ sandboxId: 'sbx_none' }), { code: 'SANDBOX_NOT_FOUND' });
    await refused(open({ backend: 'none' }), { code: 'CONFIG_INVALID' });
    await refused(open({ databaseUrl: 'postgres://none@127.0.0.1:1/none' }), { code: 'POSTGRES_UNAVAILABLE' });
    await nothingLeft('options');
  });

  test(
    'at whichever call engine or database fail',
    async () => {
      let opened: Awaited<ReturnType<typeof open>> | undefined;
      const rejected = await failEverywhere(
        async () => (opened = await open()),
        async () => {
          await opened?.destroy();
          await store.sandboxes.remove(opened?.sandboxId ?? '');
        },
      );
      expect(rejected).toBeGreaterThan(5);
    },
    LONG_MS,
  );

  test('when the certificate for its hosts cannot be made', async () => {
    const home = join(place, 'home');
    await chmod(home, 0o777);
    try {
      await refused(open({ egress: [{ host: 'example.org', headers: { authorization: 'x' } }] }), { code: 'CONFIG_INVALID' });
    } finally {
      await chmod(home, 0o700);
    }
    await nothingLeft('egress');
  });

  test('that was aborted, at whichever call that is', async () => {
    const controller = () => {
      const made = new AbortController();
      return { signal: made.signal, abort: () => made.abort(new Error('the user went away')) };
    };
    const early = controller();
    early.abort();
    await refused(open({ signal: early.signal }), {
      code: 'INTERRUPTED',
      message: expect.stringMatching(/^"openSandbox" was interrupted/),
      cause: { message: 'the user went away' },
    });
    await nothingLeft('aborted before');
    faults.arm();
    const opened = await open();
    const names = [...new Set(faults.calls)];
    await opened.destroy();
    await store.sandboxes.remove(opened.sandboxId);
    for (const name of names) {
      const { signal, abort } = controller();
      faults.onCall = (call) => call === name && abort();
      const from = join(place, 'large');
      await writeFile(from, Buffer.alloc(1_000_000));
      await refused(open({ signal, assets: [{ from, to: 'large' }] }), { code: 'INTERRUPTED' });
      faults.onCall = () => undefined;
      await nothingLeft(`aborted at ${name}`);
    }
    expect(names.length).toBeGreaterThan(5);
  });

  test('when an asset changes into something that cannot be read', async () => {
    const from = join(place, 'asset');
    await writeFile(from, 'x');
    await refused(
      open({
        assets: [
          { from, to: 'a' },
          { from, to: 'a/b' },
        ],
      }),
      {},
    );
    await nothingLeft('assets');
  });
});

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

describe('what is refused in the middle leaves nothing', () => {
  let sandboxes: Sandboxes;
  let source: string;
  let there: string[];
  beforeAll(async () => {
    sandboxes = worker();
    source = 'sbx_source';
    const { handle } = await sandboxes.open({ sandboxId: source, tenantId: 'tenant' }, {});
    await handle.writeFile('kept', 'yes');
    there = await takeCensus(counted);
  });
  afterAll(async () => {
    await endAll(sandboxes);
    await sandboxes[Symbol.asyncDispose]();
    await nothingLeft('all of it');
  });
  /** Of the source only its state may differ. */
  const onlyTheSource = async (what: string) => {
    await sandboxes.wake(source);
    await expectNothingLeft(counted, there, what);
  };

  test(
    'a snapshot',
    async () => {
      const removeAll = async () => {
        for (const { snapshotId } of await store.snapshots.list({})) await sandboxes.removeSnapshot(snapshotId);
      };
      expect(await failEverywhere(() => sandboxes.snapshot(source), removeAll, { check: onlyTheSource, which: 'lasting' })).toBeGreaterThan(3);
    },
    LONG_MS,
  );

  test(
    'a fork',
    async () => {
      const destroyAll = async () => {
        for (const { sandboxId } of await store.sandboxes.list({})) {
          if (sandboxId === source) continue;
          await sandboxes.destroy(sandboxId);
          await store.sandboxes.remove(sandboxId);
        }
      };
      expect(await failEverywhere(() => sandboxes.fork(source, 1), destroyAll, { check: onlyTheSource, which: 'lasting' })).toBeGreaterThan(3);
    },
    LONG_MS,
  );

  test(
    'a restore',
    async () => {
      const { snapshotId } = await sandboxes.snapshot(source, { name: 'kept' });
      const withSnapshot = await takeCensus(counted);
      let restored: Awaited<ReturnType<typeof byId.restore>> | undefined;
      const where = { backend: BACKEND, databaseUrl: database.url, log, tenantId: 'tenant' };
      const rejected = await failEverywhere(
        async () => (restored = await byId.restore(snapshotId, where)),
        async () => {
          await restored?.destroy();
          await store.sandboxes.remove(restored?.sandboxId ?? '');
        },
        { check: (what) => expectNothingLeft(counted, withSnapshot, what), which: 'lasting' },
      );
      expect(rejected).toBeGreaterThan(3);
    },
    LONG_MS,
  );
});

describeWithGvisor('in gVisor', () => {
  test(
    'a refused openSandbox leaves nothing, whichever call fails',
    async () => {
      let opened: Awaited<ReturnType<typeof open>> | undefined;
      await failEverywhere(
        async () => (opened = await open({ runtime: 'runsc' })),
        async () => {
          await opened?.destroy();
          await store.sandboxes.remove(opened?.sandboxId ?? '');
        },
      );
    },
    LONG_MS,
  );
});
