import { createLogger } from '../../../src/platform/log.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { startCuttingProxy, type CuttingProxy } from '../../support/cutting-proxy.ts';
import { createTestSandboxes, describeWithGvisor, output, until, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

/** More pieces than any change sends, with those of the checks beside it that a slow machine has time for; the last rounds are not cut at all. */
const MOST_PIECES = 40;

describe('a database that goes away in the middle of a change', () => {
  let proxy: CuttingProxy;
  let store: Store;
  let sandboxes: Sandboxes;
  beforeAll(async () => {
    const url = new URL(parts.databaseUrl);
    proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    store = await openStore({ url: url.href, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
    sandboxes = parts.another({ store, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  });
  afterAll(async () => {
    await store[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });

  /** The pool notices by and by which of its connections were cut. */
  const answering = () => until(() => store.ping(), 'the database answers again');

  /** Cuts before the first piece of the change, then before the second, and so on, until the change gets through whole. Returns how often it was cut. */
  async function cutEverywhere(change: () => Promise<unknown>, back: () => Promise<unknown>): Promise<number> {
    for (let pieces = 0; pieces < MOST_PIECES; pieces += 1) {
      proxy.cutAfter(pieces);
      const outcome = await change().then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
      const wasCut = proxy.hasCut();
      proxy.heal();
      expect(wasCut ? ['done', 'POSTGRES_UNAVAILABLE'] : ['done']).toContain(outcome);
      await answering();
      await change();
      await back();
      if (!wasCut) return pieces;
    }
    throw new Error(`still cut after ${MOST_PIECES} pieces`);
  }

  test('a freeze and a stop that were cut anywhere can be made again, and lose neither files nor processes they should keep', async () => {
    const owner = parts.newOwner();
    const { handle } = await sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await handle.start('sleep 1000', { execId: 'sleeper', timeoutMs: 0 });
    const woken = async () => {
      const { handle: again } = await sandboxes.open(owner, {});
      expect(await output(again, 'cat kept')).toBe('yes');
    };
    const stillSleeps = async () => {
      await woken();
      expect((await handle.execs()).find(({ execId }) => execId === 'sleeper')?.state).toBe('running');
    };
    expect(await cutEverywhere(() => sandboxes.freeze(owner.sandboxId), stillSleeps)).toBeGreaterThan(0);
    expect(await cutEverywhere(() => sandboxes.stop(owner.sandboxId), woken)).toBeGreaterThan(0);
  }, 400_000);

  test('a removal that was cut anywhere can be made again and leaves nothing', async () => {
    const owner = parts.newOwner();
    for (let pieces = 0, wasCut = true; wasCut; pieces += 1) {
      const each = { ...owner, sandboxId: `${owner.sandboxId}-${pieces}` };
      await sandboxes.open(each, {});
      proxy.cutAfter(pieces);
      await sandboxes.destroy(each.sandboxId).catch((error: unknown) => expect(error).toMatchObject({ code: 'POSTGRES_UNAVAILABLE' }));
      wasCut = proxy.hasCut();
      proxy.heal();
      await answering();
      await sandboxes.destroy(each.sandboxId);
      expect(await sandboxes.tier(each.sandboxId).catch(({ code }: { code: string }) => code)).toBe('destroyed');
      await expect(parts.docker.getContainer(parts.containerName(each.sandboxId)).inspect()).rejects.toMatchObject({ statusCode: 404 });
    }
  });

  describeWithGvisor('with gVisor', () => {
    test('a hibernation that was cut anywhere keeps the processes', async () => {
      const owner = parts.newOwner();
      const { handle } = await sandboxes.open(owner, { runtime: 'runsc' });
      await handle.runCode('held = 42', { language: 'python', contextId: 'kept' });
      const remembers = async () => {
        const { handle: again } = await sandboxes.open(owner, {});
        expect((await again.runCode('print(held)', { language: 'python', contextId: 'kept' })).stdout).toBe('42\n');
      };
      expect(await cutEverywhere(() => sandboxes.hibernate(owner.sandboxId), remembers)).toBeGreaterThan(0);
      await sandboxes.destroy(owner.sandboxId);
    });
  });
});

test('ten workers that race to wake one stopped sandbox all succeed, and one container runs', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.writeFile('/home/user/kept', 'yes');
  await parts.sandboxes.stop(owner.sandboxId);
  const workers = Array.from({ length: 10 }, () => parts.another());
  const opened = await Promise.all(workers.map((worker) => worker.open(owner, {})));
  const seen = await Promise.all(opened.map(({ handle: each }) => output(each, 'cat kept; echo; stat -c %Y /proc/1')));
  expect(new Set(seen).size).toBe(1);
  expect(seen[0]).toMatch(/^yes\n/);
});

describe('a guest that harms itself', () => {
  let handle: SandboxHandle;
  let neighbour: SandboxHandle;
  beforeAll(async () => {
    ({ handle } = await parts.sandboxes.open(parts.newOwner(), { pids: 64, memoryMb: 256 }));
    ({ handle: neighbour } = await parts.sandboxes.open(parts.newOwner(), {}));
  });

  test('and kills every process it can reach ends its own commands only', async () => {
    const running = handle.run('sleep 1000', { timeoutMs: 0 });
    await handle.run('kill -9 -1');
    expect(await running).toMatchObject({ status: 'exited', signal: 'SIGKILL' });
    expect(await output(handle, 'echo still here')).toBe('still here');
  });

  test('and forks without end is held by its limit, and works again when that command is over', async () => {
    const bomb = handle.run('bomb() { bomb | bomb & }; bomb; sleep 1000', { timeoutMs: 3000 });
    expect(await output(neighbour, 'echo the neighbour works')).toBe('the neighbour works');
    expect(await bomb).toMatchObject({ status: 'timeout' });
    expect(await output(handle, 'echo and so does it')).toBe('and so does it');
  });

  test('and fills what it may write is told that there is no room, and works again when it has made some', async () => {
    const full = await handle.run('head -c 10G /dev/zero > /tmp/full');
    expect(full.exitCode).not.toBe(0);
    expect(full.stderr.text).toMatch(/No space left on device/);
    expect(await output(neighbour, 'echo room > /tmp/some && cat /tmp/some')).toBe('room');
    expect(await output(handle, 'rm /tmp/full && echo room > /tmp/some && cat /tmp/some')).toBe('room');
  });
});
