import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import { failure } from '../../../../src/contracts/errors.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { readMemoryShare } from '../../../../src/platform/read-memory-share.ts';
import { elsewhereOf } from '../../../../src/sandbox/api/elsewhere.ts';
import { untilRoom } from '../../../../src/sandbox/api/until-room.ts';
import type { DockerContext } from '../../../../src/sandbox/lifecycle/base/docker-context.ts';
import { createKeptPools } from '../../../../src/sandbox/lifecycle/base/kept-pools.ts';
import { factsOf } from '../../../../src/sandbox/lifecycle/room/facts-of.ts';
import { checkPlace } from '../../../../src/sandbox/lifecycle/room/place.ts';
import { wantedFor } from '../../../../src/sandbox/lifecycle/room/send-away.ts';
import { withRoom } from '../../../../src/sandbox/lifecycle/room/with-room.ts';
import type { Candidate, KnownHost } from '../../../../src/store/service/fleet.ts';
import type { RoomWaiter } from '../../../../src/store/conversation/room-queue.ts';

const GIB = 2 ** 30;
const ASKING = { sandboxId: 'sbx_1', conversationId: 'conv_1', tenantId: 'acme' };

function full(values: { neededMb?: number; promisedMb?: number; allowedMb?: number; ahead?: number } = {}): Error {
  return failure('HOST_FULL', { sandboxId: 'sbx_1', host: 'here', neededMb: 1024, promisedMb: 2048, allowedMb: 2048, ahead: 0, ...values });
}

/** A host with warm sandboxes, and a queue in which one has waited for so long. */
function world({ warm = [] as string[], waitedMs = 0, isNew = false, candidates = [] as Candidate[], known = [] as Partial<KnownHost>[], log = true } = {}) {
  const stood: RoomWaiter[] = [];
  const calls: string[] = [];
  const context = {
    hostId: 'here',
    hostLabels: [],
    pools: createKeptPools(),
    hostWaitMs: 60_000,
    lostAfterMs: 30_000,
    disk: async () => undefined,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    lease: { state: () => ({ isDraining: false, hasOthers: true }) },
    fleet: { candidates: async () => candidates, hosts: async () => known },
    rows: { get: async () => undefined, ofConversation: async () => undefined },
    poolRows: {
      unclaimed: async () => warm.map((sandboxId) => ({ sandboxId })),
      // Claimed meanwhile, so that nothing is to be removed.
      retire: async (sandboxId: string) => {
        calls.push(`retire ${sandboxId}`);
        warm.splice(warm.indexOf(sandboxId), 1);
        return false;
      },
    },
    roomQueue: {
      join: async (waiter: RoomWaiter) => {
        stood.push(waiter);
        return { waitedMs, isNew };
      },
      told: async (waiter: string) => void calls.push(`told ${waiter}`),
      leave: async (waiter: string) => void calls.push(`leave ${waiter}`),
    },
    events: {
      append: async (conversationId: string, [event]: { type: string }[]) => {
        if (!log) throw new Error('the log is away');
        calls.push(`${event?.type} ${conversationId}`);
      },
    },
  };
  return { context: context as unknown as DockerContext, stood, calls };
}

test('a host with a warm sandbox of a template is looked for also where it keeps them under the name of another one whose sandboxes are alike', () => {
  const pools = createKeptPools();
  pools.set({ template: 'quick', stopAfterMs: 60_000 }, 'key');
  pools.set({ template: 'slow', stopAfterMs: 90_000 }, 'key');
  pools.set({ template: 'large', memoryMb: 4096 }, 'another');
  const warmOf = (options: SandboxOptions) => wantedFor({ pools }, ASKING, options).warmOf;
  expect(warmOf({ template: 'quick', stopAfterMs: 60_000 })).toEqual(['quick', 'slow']);
  expect(warmOf({ template: 'large', memoryMb: 4096 })).toEqual(['large']);
  expect(warmOf({ template: 'large', memoryMb: 2048 })).toBeUndefined();
});

test('warm sandboxes are given up one after the other, the newest first, before anybody waits', async () => {
  const { context, calls, stood } = world({ warm: ['new', 'old', 'oldest'] });
  let tries = 0;
  const take = async () => {
    if ((tries += 1) < 3) throw full();
    return 'taken';
  };
  expect(await withRoom(context, ASKING, take)).toBe('taken');
  expect(calls).toEqual(['retire new', 'retire old']);
  expect(stood).toEqual([]);
});

test('where others come first, or the sandbox is too large, no warm sandbox is given up', async () => {
  const { context, calls, stood } = world({ warm: ['one'] });
  const refused = (error: Error) =>
    withRoom(context, ASKING, async () => {
      throw error;
    });
  await expect(refused(full({ promisedMb: 0, ahead: 1 }))).rejects.toMatchObject({ code: 'HOST_FULL' });
  await expect(refused(full({ neededMb: 4096 }))).rejects.toThrow(
    'Sandbox "sbx_1" needs 4096 MB of memory, and host "here" promises 2048 MB at most to all sandboxes together. Lower the memory limit of its agent or template, raise LONGSHORE_HOST_MEMORY there, or add a larger host',
  );
  await expect(refused(failure('DOCKER_UNAVAILABLE', { problem: 'it is away' }))).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' });
  expect(calls).toEqual([]);
  expect(stood).toHaveLength(1);
});

test.each([
  [0, 1000],
  [20_000, 2000],
  [55_000, 5000],
  [59_500, 500],
])('who has waited for %d ms asks again after %d ms', async (waitedMs, retryAfterMs) => {
  const { context, stood, calls } = world({ waitedMs });
  await expect(withRoom(context, ASKING, () => Promise.reject(full()))).rejects.toMatchObject({ code: 'HOST_FULL', retryable: true, values: { retryAfterMs } });
  const waits = { neededMb: 1024, host: 'here', promisedMb: 2048, allowedMb: 2048, ahead: 0 };
  expect(stood).toEqual([{ waiter: 'conv_1', conversationId: 'conv_1', tenantId: 'acme', hostId: 'here', waits }]);
  expect(calls).toEqual([]);
});

test('the log says once that a conversation waits; without a log, it waits all the same', async () => {
  const { context, calls } = world({ isNew: true });
  await expect(withRoom(context, ASKING, () => Promise.reject(full()))).rejects.toMatchObject({ code: 'HOST_FULL' });
  await expect(withRoom(context, { sandboxId: 'sbx_2', tenantId: 'acme' }, () => Promise.reject(full()))).rejects.toMatchObject({
    values: { sandboxId: 'sbx_2' },
  });
  expect(calls).toEqual(['sandbox.waiting conv_1', 'told conv_1', 'told sbx_2']);
  const without = world({ isNew: true, log: false });
  await expect(withRoom(without.context, ASKING, () => Promise.reject(full()))).rejects.toMatchObject({ code: 'HOST_FULL' });
  expect(without.calls).toEqual([]);
});

test('the longest wait ends with an error that says what to do, and leaves the queue', async () => {
  const { context, calls } = world({ waitedMs: 60_000 });
  await expect(withRoom(context, ASKING, () => Promise.reject(full()))).rejects.toMatchObject({
    code: 'HOST_WAIT_OVER',
    retryable: false,
    message:
      'Sandbox "sbx_1" has waited 60 s for 1024 MB of memory (LONGSHORE_HOST_WAIT): host "here" has promised 2048 of 2048 MB. Close conversations or let them rest sooner, add a host, or raise LONGSHORE_HOST_MEMORY',
  });
  expect(calls).toEqual(['leave conv_1']);
});

describe('where a sandbox is made', () => {
  const limited = (hostId: string, load: number, roomGib: number, allowedGib = 4) => ({
    hostId,
    load,
    allowedBytes: allowedGib * GIB,
    roomBytes: roomGib * GIB,
  });
  const place = (candidates: Candidate[], memoryMb = 1024, known: Partial<KnownHost>[] = []) => {
    const { context, stood } = world({ candidates, known });
    return { placed: checkPlace(context, { ...ASKING, mayMove: true }, { memoryMb }), stood };
  };

  test('here where there is room, though another host has more', () => place([limited('other', 0.1, 3), limited('here', 0.15, 1)]).placed);

  test('elsewhere where there is none here, and not where the emptiest host has none', async () => {
    const error: unknown = await place([limited('emptiest', 0, 0.5), limited('other', 0.5, 1), limited('here', 0.2, 0)]).placed.catch(
      (reason: unknown) => reason,
    );
    expect(elsewhereOf(error)).toMatchObject({ host: 'other' });
  });

  test('elsewhere where a warm sandbox waits or the image is, if neither is here; here where both hosts are alike', async () => {
    const hostOf = async (candidates: Candidate[]) => elsewhereOf(await place(candidates).placed.catch((reason: unknown) => reason))?.host;
    const [here, other] = [
      { hostId: 'here', load: 0 },
      { hostId: 'other', load: 0.5 },
    ];
    expect(await hostOf([{ ...other, hasWarm: true }, here])).toBe('other');
    expect(await hostOf([other, { ...here, lacksImage: true }])).toBe('other');
    expect(
      await hostOf([
        { ...here, hasWarm: true },
        { ...other, load: 0 },
      ]),
    ).toBeUndefined();
    const alike = [{ ...other, load: 0, hasWarm: true, lacksImage: true } as const, { ...here, load: 0.1, hasWarm: true, lacksImage: true } as const];
    expect(await hostOf(alike)).toBeUndefined();
  });

  test('a host without a limit has room', () => place([{ hostId: 'here', load: 9 }, limited('other', 9.5, 0)]).placed);

  test('elsewhere where others wait for the host that would be first, and not behind them', async () => {
    const awaited = { ...limited('here', 0.2, 2), ahead: 2 };
    const error: unknown = await place([awaited, limited('other', 0.8, 1)]).placed.catch((reason: unknown) => reason);
    expect(elsewhereOf(error)).toMatchObject({ host: 'other' });
    const { placed, stood } = place([awaited, limited('other', 0.9, 0.5)]);
    await expect(placed).rejects.toMatchObject({ code: 'HOST_FULL', values: { ahead: 2 } });
    expect(stood).toMatchObject([{ waiter: 'conv_1', waits: { ahead: 2 } }]);
  });

  test('where no host has room, it waits for any of them', async () => {
    const { placed, stood } = place([limited('other', 0.1, 0), limited('here', 0.9, 0.5, 8)]);
    await expect(placed).rejects.toMatchObject({ code: 'HOST_FULL', values: { host: 'here', neededMb: 1024, promisedMb: 7680, allowedMb: 8192 } });
    expect(stood).toMatchObject([{ waiter: 'conv_1' }]);
    expect(stood[0]).not.toHaveProperty('hostId');
  });

  test('one that is larger than what any host may promise is refused at once', async () => {
    const { placed, stood } = place([limited('other', 0, 4), limited('here', 0, 2, 2)], 5000);
    await expect(placed).rejects.toMatchObject({ code: 'SANDBOX_TOO_LARGE', values: { host: 'other', allowedMb: 4096 } });
    expect(stood).toEqual([]);
  });

  describe('one that only hosts could have that take none now', () => {
    const facts = (allowedGib?: number, runtimes = ['runc']) => ({ version: '1', runtimes, ...(allowedGib && { allowedBytes: allowedGib * GIB }) });
    const drained = { hostId: 'drained', isThere: true, drainingSince: '2026-01-01T00:00:00.000Z' };
    const silent = { hostId: 'silent', isThere: false };

    test('is tried again until one of them is there', async () => {
      const small = limited('here', 0, 2, 2);
      const known = [
        { ...drained, facts: facts(8) },
        { ...silent, facts: facts() },
        { hostId: 'here', isThere: true, facts: facts(2) },
      ];
      const { placed, stood } = place([small], 5000, known);
      await expect(placed).rejects.toMatchObject({ code: 'HOSTS_AWAY', retryable: true });
      await expect(placed).rejects.toThrow(
        'of those that have what it needs (5000 MB of memory), "drained" is being drained, "silent" has not been heard of. Start their workers',
      );
      expect(stood).toEqual([]);
    });

    test('is refused where they lack something else', async () => {
      const { context } = world({ known: [{ ...drained, facts: facts(8) }, { ...silent }] });
      const asking = { ...ASKING, runtime: 'runsc', anywhere: true };
      const large = full({ neededMb: 5000 });
      await expect(withRoom(context, asking, () => Promise.reject(large))).rejects.toMatchObject({ code: 'SANDBOX_TOO_LARGE' });
    });

    test('is refused where it has to stay', async () => {
      const { context } = world({ known: [{ ...drained, facts: facts(8) }] });
      const large = full({ neededMb: 5000 });
      await expect(withRoom(context, ASKING, () => Promise.reject(large))).rejects.toMatchObject({ code: 'SANDBOX_TOO_LARGE' });
      await expect(withRoom(context, { ...ASKING, anywhere: true }, () => Promise.reject(large))).rejects.toMatchObject({ code: 'HOSTS_AWAY' });
    });

    test('waits for disk, where that is what they lack', async () => {
      const shortDisk = { freeBytes: GIB, totalBytes: 100 * GIB, againBytes: 2 * GIB, isShort: true };
      for (const large of [
        { ...limited('large', 0, 8, 8), shortDisk },
        { hostId: 'large', load: 0, shortDisk },
      ]) {
        const { placed, stood } = place([{ ...limited('small', 0, 2, 2), shortDisk }, limited('here', 0, 2, 2), large], 5000);
        await expect(placed).rejects.toMatchObject({ code: 'HOST_DISK_FULL', values: { host: 'large' } });
        expect(stood).toMatchObject([{ waits: { host: 'large', disk: { leastMb: 2048 } } }]);
      }
    });
  });
});

test('what cannot come again is repeated until there is room, another error comes, or the signal is aborted', async () => {
  const soon = () => Object.assign(full(), { values: { retryAfterMs: 1 } });
  let tries = 0;
  const act = async () => {
    if ((tries += 1) < 4) throw soon();
    return tries;
  };
  expect(await untilRoom(act)).toBe(4);
  await expect(untilRoom(() => Promise.reject(new Error('another')))).rejects.toThrow('another');
  const stopped = new AbortController();
  const waiting = untilRoom(() => Promise.reject(full()), { signal: stopped.signal });
  stopped.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});

test('memory is read as people write it', () => {
  expect(['off', '24g', '1.5G', '512m', '1t', '80%'].map(readMemoryShare)).toEqual([
    'off',
    { bytes: 24 * GIB },
    { bytes: 1.5 * GIB },
    { bytes: GIB / 2 },
    { bytes: 1024 * GIB },
    { part: 0.8 },
  ]);
  expect(['', '24', '0g', '0%', '101%', '-1g', '24gb', '1e9g', 'on', '1 g'].map(readMemoryShare)).toEqual(Array.from({ length: 10 }, () => undefined));
});

test('a host promises what its settings say, or a part of what the engine has', () => {
  const engine = { runtimes: ['runc'], memoryBytes: 10 * GIB, cpus: 2 };
  const off = { LONGSHORE_HOST_MEMORY: 'off', LONGSHORE_HOST_LABELS: [] };
  expect(factsOf(engine, off)).toEqual(engine);
  expect(factsOf(engine, { LONGSHORE_HOST_MEMORY: '80%', LONGSHORE_HOST_LABELS: ['gpu'] })).toEqual({ ...engine, allowedBytes: 8 * GIB, labels: ['gpu'] });
  expect(() => factsOf({ runtimes: [] }, { ...off, LONGSHORE_HOST_MEMORY: '80%' })).toThrow(
    'LONGSHORE_HOST_MEMORY: it is "80%", and the engine does not tell how much memory its machine has. Write a size, such as 24g',
  );
});
