import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import { failure } from '../../../../src/contracts/errors.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { pluginFilesOf } from '../../../../src/plugins/dialects/shared/python/files-of-tenant.ts';
import { createOwnSandboxes, ownSandboxIdOf } from '../../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import type { SandboxOwner } from '../../../../src/sandbox/api/sandbox.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';

const ID = 'harbour.tides';
const MINUTE_MS = 60_000;

/** Sandboxes that exist only as rows. */
function bench({ idleMs = 15 * MINUTE_MS, longestMs = MINUTE_MS } = {}) {
  const rows = new Map<string, SandboxRow>();
  const did: unknown[] = [];
  const host = { isDraining: false };
  const problems = new Map<string, Error>();
  const change = (sandboxId: string, fields: Partial<SandboxRow>) => {
    const row = rows.get(sandboxId);
    if (row) rows.set(sandboxId, { ...row, ...fields });
  };
  const own = createOwnSandboxes({
    pluginId: ID,
    prepare: async (handle) => void did.push(['prepare', handle.sandboxId]),
    longestMs: () => longestMs,
    given: {
      hostId: 'host-1',
      image: 'image',
      directory: '/nowhere',
      idleMs,
      log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
      sandboxes: {
        isDraining: () => host.isDraining,
        async open({ sandboxId, tenantId, ttlMs, mayMove }: SandboxOwner, options: SandboxOptions) {
          did.push(['open', sandboxId, { ttlMs, ...(mayMove && { mayMove }), ...options }]);
          const made = { sandboxId, tenantId, state: 'running', hostId: 'host-1', options } as unknown as SandboxRow;
          if (!rows.has(sandboxId)) rows.set(sandboxId, made);
          return { handle: { sandboxId } as never };
        },
        destroy: async () => undefined,
        async setEgress(sandboxId, egress) {
          const problem = problems.get(sandboxId);
          if (problem) throw problem;
          did.push(['egress', sandboxId, egress]);
          change(sandboxId, { options: { ...rows.get(sandboxId)?.options, egress } });
        },
      },
      rows: {
        get: async (sandboxId) => rows.get(sandboxId),
        list: async ({ hostId }) => [...rows.values()].filter((row) => row.hostId === hostId),
        prolong: async (sandboxId, ttlMs) => did.push(['prolong', sandboxId, ttlMs]) > 0,
        remove: async (sandboxId) => void rows.delete(sandboxId),
      },
    },
  });
  return { own, rows, change, host, problems, taken: () => did.splice(0) };
}

const a = ownSandboxIdOf(ID, 'a');
const b = ownSandboxIdOf(ID, 'b');

test('each tenant has a sandbox of its own, with no network, that is stopped after the idle time and keeps its files', async () => {
  const { own, taken } = bench();
  expect(await own.open('a', false)).toEqual({ handle: { sandboxId: a }, held: false });
  const options = { memoryMb: 1024, cpus: 1, pids: 256, diskMb: 4096, egress: [], onTtl: 'stop', metadata: { plugin: ID } };
  expect(taken()).toEqual([
    ['open', a, { ttlMs: 16.5 * MINUTE_MS, ...options }],
    ['prepare', a],
  ]);
  expect(await own.open('a', false)).toEqual({ handle: { sandboxId: a }, held: true });
  expect(taken()).toEqual([]);
  expect((await own.open('b', false)).handle.sandboxId).toBe(b);
  expect(new Set([a, b, ownSandboxIdOf('harbour', '.tidesa'), ownSandboxIdOf('other', 'a')]).size).toBe(4);
});

test('it is not stopped during the longest call, and never where plugins do not rest', async () => {
  const long = bench({ longestMs: 60 * MINUTE_MS });
  await long.own.open('a', false);
  expect(long.taken()[0]).toMatchObject(['open', a, { ttlMs: Math.round(67.1 * MINUTE_MS) }]);
  const never = bench({ idleMs: 0 });
  await never.own.open('a', false);
  await never.own.open('a', false);
  expect(never.taken()).toEqual([
    ['open', a, expect.not.objectContaining({ ttlMs: expect.any(Number) as number })],
    ['prepare', a],
  ]);
});

test('a sandbox in use is prolonged once in a tenth of its idle time, and always has all of that time', async () => {
  import.meta.jest.useFakeTimers();
  try {
    const { own, taken } = bench();
    await own.open('a', false);
    taken();
    for (let minute = 0; minute < 3; minute++) {
      import.meta.jest.advanceTimersByTime(MINUTE_MS);
      await own.open('a', false);
    }
    expect(taken()).toEqual([['prolong', a, 16.5 * MINUTE_MS]]);
  } finally {
    import.meta.jest.useRealTimers();
  }
});

test('a change of the grants reaches all its sandboxes on this host at once, and no other sandbox', async () => {
  const { own, rows, taken } = bench();
  await own.open('a', false);
  await own.open('b', false);
  const foreign = { tenantId: 'a', state: 'running', hostId: 'host-1', options: { egress: [], metadata: { plugin: ID } } } as unknown as SandboxRow;
  rows.set('sbx_1', { ...foreign, sandboxId: 'sbx_1' });
  rows.set('elsewhere', { ...foreign, sandboxId: ownSandboxIdOf(ID, 'c'), tenantId: 'c', hostId: 'host-2' });
  taken();
  const rules = [{ host: 'api.example' }, { host: 'tides.example', ports: [8443] }];
  await own.setNetwork(['Tides.example:8443', 'api.example']);
  expect(taken()).toEqual([
    ['egress', a, rules],
    ['egress', b, rules],
  ]);
  await own.setNetwork(['tides.example:8443', 'api.example']);
  expect(taken()).toEqual([]);
  expect((await own.open('d', false)).held).toBe(false);
  expect(taken()[0]).toMatchObject(['open', ownSandboxIdOf(ID, 'd'), { egress: rules }]);
  await own.setNetwork([]);
  expect(taken()).toEqual([a, b, ownSandboxIdOf(ID, 'd')].map((id) => ['egress', id, []]));
});

test('grants that cannot be changed in one sandbox are changed in the others, and one that was just removed needs none', async () => {
  const { own, problems, taken } = bench();
  for (const tenant of ['a', 'b', 'c']) await own.open(tenant, false);
  await own.setNetwork(['api.example']);
  taken();
  problems.set(a, new Error('Postgres is away'));
  problems.set(b, failure('SANDBOX_DESTROYED', { sandboxId: b }));
  await expect(own.setNetwork([])).rejects.toThrow('Postgres is away');
  expect(taken()).toEqual([['egress', ownSandboxIdOf(ID, 'c'), []]]);
  problems.delete(a);
  await own.setNetwork([]);
  expect(taken()).toEqual([['egress', a, []]]);
});

test('what is told reaches each sandbox that was opened, also when one of them cannot be reached', async () => {
  const { own } = bench();
  await own.open('a', false);
  await own.open('b', false);
  const told: string[] = [];
  await own.tell(async ({ sandboxId }) => {
    told.push(sandboxId);
    if (sandboxId === a) throw new Error('it has stopped');
  });
  expect(told).toEqual([a, b]);
});

test('a sandbox whose rules are not those of this worker gets them before the call', async () => {
  const { own, change, taken } = bench();
  await own.open('a', false);
  taken();
  change(a, { options: { egress: [{ host: 'old.example' }] } });
  await own.open('a', false);
  expect(taken().map((each) => (each as unknown[])[0])).toEqual(['open', 'egress', 'prepare']);
});

test('when an operator has removed it, a new call begins in another one, and a call that had begun is lost and not made again', async () => {
  const { own, change } = bench();
  await own.open('a', false);
  change(a, { state: 'destroyed' });
  expect(await own.find('a')).toBeUndefined();
  await expect(own.open('a', true)).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  expect((await own.open('a', false)).held).toBe(false);
  change(a, { filesLostAt: '2026-11-27T00:00:00.000Z' });
  expect(await own.find('a')).toEqual({ filesLostAt: '2026-11-27T00:00:00.000Z' });
});

test('the files that a plugin keeps for a tenant are found by their sandbox, and nothing that only says so', async () => {
  const { own, rows, change } = bench();
  await own.open('a', false);
  await own.open('b', false);
  const pretended = { ...rows.get(a)!, sandboxId: 'sbx_1' };
  expect(pluginFilesOf([...rows.values(), pretended], 'a')).toEqual([{ pluginId: ID, sandboxId: a, hostId: 'host-1' }]);
  change(a, { state: 'destroyed' });
  expect(pluginFilesOf([...rows.values()], 'a')).toEqual([]);
});

test('a visit keeps no sandbox awake, and one that fails opens it anew the next time', async () => {
  const { own, taken } = bench();
  await own.open('a', false);
  taken();
  const visited: string[] = [];
  const visit = () => own.visit('a', async ({ sandboxId }) => void visited.push(sandboxId));
  await visit();
  expect(taken()).toEqual([]);
  await expect(own.visit('a', () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  await visit();
  expect(taken().map((did) => (did as unknown[])[0])).toEqual(['open', 'prepare']);
  expect(visited).toEqual([a, a]);
});

test('a sandbox that was taken from a host which is being drained is not brought back there by a call that can go on elsewhere', async () => {
  const { own, change, host, taken } = bench();
  await own.open('a', false, true);
  change(a, { state: 'archived' });
  expect((await own.open('a', false, true)).held).toBe(true);
  taken();
  host.isDraining = true;
  expect((await own.open('a', false)).held).toBe(true);
  expect(taken()).toEqual([]);
  expect((await own.open('a', false, true)).held).toBe(false);
  expect(taken()[0]).toMatchObject(['open', a, { mayMove: true }]);
  change(a, { state: 'running' });
  expect((await own.open('a', false, true)).held).toBe(true);
});
