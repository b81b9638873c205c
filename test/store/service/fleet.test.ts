import { array, assert, asyncProperty, boolean, constantFrom, integer, nat, option, record, subarray, type Arbitrary } from 'fast-check';
import { withoutUndefined } from '../../../src/common/without-undefined.ts';
import type { SandboxState } from '../../../src/store/sandbox-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../e2e/support.ts';
import { newCall, newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const GIB = 2 ** 30;
const LOST_MS = 60_000;

/** Hosts of one test; those of other tests are made silent. */
async function hosts(memory: Record<string, number>, runtimes = ['runc']): Promise<void> {
  for (const { hostId } of await store.fleet.hosts(LOST_MS)) await store.fleet.setDraining(hostId, true);
  for (const [hostId, memoryBytes] of Object.entries(memory)) {
    await store.hosts.beat(hostId, LOST_MS);
    await store.fleet.describe(hostId, { version: '1', runtimes, memoryBytes, cpus: 2 });
  }
}

async function sandbox(
  hostId: string,
  { state = 'running', memoryMb = 1024 }: { state?: SandboxState; memoryMb?: number } = {},
): Promise<{ sandboxId: string; conversationId: string }> {
  const conversationId = await newConversation(store);
  const sandboxId = newId('sbx');
  const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state, hostId, ...names, options: { memoryMb } });
  return { sandboxId, conversationId };
}

const candidates = (more: { runtime?: string } = {}) => store.fleet.candidates({ sandboxId: newId('sbx'), ...more }, LOST_MS);
const name = (host: string) => `${host}-${newId('sbx')}`;

test('hosts are ordered by the memory limits of their sandboxes with processes, as a part of their memory', async () => {
  const [small, large] = [name('small'), name('large')];
  await hosts({ [small]: 4 * GIB, [large]: 8 * GIB });
  await sandbox(small);
  await sandbox(large);
  await sandbox(large, { state: 'frozen', memoryMb: 512 });
  for (const state of ['hibernated', 'stopped', 'archived', 'destroyed', 'lost'] as const) await sandbox(large, { state, memoryMb: 4096 });
  expect(await candidates()).toEqual([
    { hostId: large, load: 1.5 / 8 },
    { hostId: small, load: 1 / 4 },
  ]);
});

test('a host that is being drained, is silent, says nothing of itself or lacks the runtime gets no sandbox', async () => {
  const [good, drained, silent] = [name('good'), name('drained'), name('silent')];
  await hosts({ [good]: GIB, [drained]: GIB }, ['runc', 'runsc']);
  await store.hosts.beat(silent, LOST_MS);
  expect(await store.fleet.setDraining(drained, true)).toBe(true);
  expect(await candidates({ runtime: 'runsc' })).toEqual([{ hostId: good, load: 0 }]);
  expect(await candidates({ runtime: 'kata' })).toEqual([]);
  await until(async () => (await store.fleet.candidates({ sandboxId: 'sbx' }, 1)).length === 0, 'nobody was heard of in the last millisecond');
  await store.fleet.setDraining(drained, false);
  expect(await candidates()).toHaveLength(2);
});

test('a host that is short of disk is named as such, and gets no work that any host may do while another one is there', async () => {
  const [short, free] = [name('short'), name('free')];
  const [one, other] = [newId('sbx'), newId('sbx')];
  await hosts({ [short]: GIB, [free]: GIB });
  const disk = { freeBytes: 1, totalBytes: GIB, againBytes: 20, isShort: true };
  await store.fleet.describe(short, { version: '1', runtimes: ['runc'], memoryBytes: GIB, disk });
  await store.fleet.describe(free, { version: '1', runtimes: ['runc'], memoryBytes: GIB, disk: { ...disk, freeBytes: 30, isShort: false } });
  expect(await candidates()).toEqual(
    expect.arrayContaining([expect.not.objectContaining({ shortDisk: expect.anything() }), expect.objectContaining({ hostId: short, shortDisk: disk })]),
  );
  expect(await store.fleet.disks(LOST_MS)).toEqual([
    { hostId: free, ...disk, freeBytes: 30, isShort: false },
    { hostId: short, ...disk },
  ]);
  await store.fleet.noteDisk(short, { ...disk, freeBytes: 2 });
  await store.fleet.noteDisk('never-heard-of', disk);
  expect((await store.fleet.hosts(LOST_MS, short))[0]?.facts).toEqual({ version: '1', runtimes: ['runc'], memoryBytes: GIB, disk: { ...disk, freeBytes: 2 } });
  await store.hosts.announce({ workerId: one, hostId: short, address: '127.0.0.1:1', fingerprint: 'f' }, LOST_MS);
  expect(await store.hosts.list()).toMatchObject([{ workerId: one }]);
  await store.hosts.announce({ workerId: other, hostId: free, address: '127.0.0.1:1', fingerprint: 'f' }, LOST_MS);
  expect(await store.hosts.list()).toMatchObject([{ workerId: other }]);
  expect(await store.hosts.list(short)).toMatchObject([{ workerId: one }]);
  for (const workerId of [one, other]) await store.hosts.withdraw(workerId);
});

test('a host has all labels that a sandbox needs, or does not get it', async () => {
  const [none, one, both] = [name('none'), name('one'), name('both')];
  await hosts({ [none]: GIB, [one]: GIB, [both]: GIB });
  const facts = { version: '1', runtimes: ['runc'], memoryBytes: GIB };
  await store.fleet.describe(one, { ...facts, labels: ['gpu'] });
  await store.fleet.describe(both, { ...facts, labels: ['zone=a', 'gpu'] });
  const named = async (labels: string[]) => (await store.fleet.candidates({ sandboxId: newId('sbx'), labels }, LOST_MS)).map(({ hostId }) => hostId);
  expect(await named(['gpu', 'zone=a'])).toEqual([both]);
  expect(await named(['gpu'])).toEqual([both, one]);
  expect(await named(['zone=b'])).toEqual([]);
  expect(await candidates()).toHaveLength(3);
});

test('a sandbox has no place on the host that it leaves', async () => {
  const [from, to] = [name('from'), name('to')];
  await hosts({ [to]: GIB });
  const owned = await sandbox(from, { state: 'stopped' });
  expect(await store.fleet.candidates({ ...owned, leaves: to }, LOST_MS)).toEqual([]);
  expect(await store.fleet.candidates({ ...owned, leaves: from }, LOST_MS)).toMatchObject([{ hostId: to }]);
});

test('a conversation has no place where another one has a sandbox with the id of its own', async () => {
  const [from, to] = [name('from'), name('to')];
  await hosts({ [to]: GIB });
  const { sandboxId } = await sandbox(from, { state: 'stopped' });
  expect(await store.fleet.candidates({ sandboxId, conversationId: newId('conv') }, LOST_MS)).toMatchObject([{ hostId: to }]);
  // Without a conversation, it is the sandbox itself.
  expect(await store.fleet.candidates({ sandboxId }, LOST_MS)).toEqual([]);
  const copy = { sandboxId: newId('sbx'), tenantId: 'default', state: 'stopped' as const, hostId: from };
  await store.sandboxes.ensure({ ...copy, containerName: 'c', volumeName: copy.sandboxId, options: {} });
  expect(await store.fleet.candidates({ sandboxId: copy.sandboxId, conversationId: newId('conv') }, LOST_MS)).toEqual([]);
});

test('work that any host may do, such as an import, is given to none that is being drained', async () => {
  const [host, workerId] = [name('host'), newId('sbx')];
  await hosts({ [host]: GIB });
  await store.hosts.announce({ workerId, hostId: host, address: '127.0.0.1:1', fingerprint: 'f' }, LOST_MS);
  expect(await store.hosts.list()).toMatchObject([{ workerId }]);
  expect(await store.hosts.list(undefined, { labels: ['gpu'] })).toEqual([]);
  await store.fleet.describe(host, { version: '1', runtimes: ['runc'], labels: ['gpu', 'zone=a'] });
  expect(await store.hosts.list(undefined, { labels: ['gpu'] })).toMatchObject([{ workerId }]);
  await store.fleet.setDraining(host, true);
  expect(await store.hosts.list()).toEqual([]);
  expect(await store.hosts.list(host)).toMatchObject([{ workerId }]);
});

test('a sandbox that is on a host has its place; one that is archived has none', async () => {
  const host = name('host');
  await hosts({ [host]: GIB });
  const there = await sandbox(host, { state: 'stopped' });
  const archived = await sandbox(host, { state: 'archived' });
  expect(await store.fleet.candidates(there, LOST_MS)).toEqual([]);
  expect(await store.fleet.candidates({ ...there, sandboxId: 'another' }, LOST_MS)).toEqual([]);
  expect(await store.fleet.candidates(archived, LOST_MS)).toHaveLength(1);
});

test('a worker learns with each beat whether its host is being drained, and whether others are there', async () => {
  const [own, other] = [name('own'), name('other')];
  const soon = 200;
  await until(async () => !(await store.hosts.beat(own, soon)).hasOthers, 'the hosts of other tests are silent');
  await store.hosts.beat(other, soon);
  expect(await store.hosts.beat(own, LOST_MS)).toMatchObject({ isDraining: false, hasOthers: true });
  await store.fleet.setDraining(own, true);
  expect(await store.hosts.beat(own, LOST_MS)).toMatchObject({ isDraining: true });
});

test('a host whose snapshots are in the blob store is forgotten, and they stay; others keep it', async () => {
  const host = name('host');
  await hosts({ [host]: GIB });
  const [snapshotId, sandboxId] = [newId('snap'), newId('sbx')];
  await store.snapshots.insert({ snapshotId, sandboxId, tenantId: 'default', hostId: host, volumeName: 'v', options: {} });
  await store.snapshots.finish(snapshotId, { name: 'kept' });
  expect(await store.fleet.hosts(LOST_MS, host)).toMatchObject([{ snapshots: 1, unstored: 1 }]);
  expect((await store.snapshots.unstored(host)).map((row) => row.snapshotId)).toEqual([snapshotId]);
  expect(await store.fleet.forget(host, -LOST_MS)).toBe(false);
  const stored = { files: { blobId: `blob-${snapshotId}`, bytes: 1, sha256: 'f'.repeat(64) } };
  expect(await store.snapshots.store(snapshotId, stored)).toBe(true);
  expect(await store.snapshots.store(snapshotId, stored)).toBe(false);
  expect(await store.snapshots.beginStoring(snapshotId)).toBeUndefined();
  expect(await store.backups.blobIds()).toEqual([`blob-${snapshotId}`]);
  expect(await store.fleet.hosts(LOST_MS, host)).toMatchObject([{ snapshots: 1, unstored: 0 }]);
  expect(await store.fleet.forget(host, -LOST_MS)).toBe(true);
  expect(await store.snapshots.remove(snapshotId)).toMatchObject({ snapshotId, stored });
  expect(await store.snapshots.remove(snapshotId)).toBeUndefined();
});

test('a host is forgotten with its warm sandboxes, and not while one of them has been given to a conversation', async () => {
  const [host, other] = [name('host'), name('other')];
  await hosts({ [host]: GIB, [other]: GIB });
  const warm = async (hostId: string, slot: number) => {
    const sandboxId = newId('sbx');
    const row = { sandboxId, hostId, containerName: sandboxId, volumeName: sandboxId, options: {} };
    await store.pools.add(row, { key: 'small', slot });
    await store.sandboxes.change(sandboxId, (await store.sandboxes.get(sandboxId))!.generation, { state: 'warm' });
    return sandboxId;
  };
  const [taken, left, elsewhere] = [await warm(host, 1), await warm(host, 2), await warm(other, 1)];
  const claimed = await store.pools.claim(
    { hostId: host, key: 'small', preferred: [taken] },
    { sandboxId: newId('sbx'), conversationId: await newConversation(store), tenantId: 'default', options: {} },
  );
  expect(claimed?.sandboxId).toBe(taken);
  expect(await store.fleet.forget(host, -LOST_MS)).toBe(false);
  expect(await store.sandboxes.get(left)).toMatchObject({ state: 'warm' });
  await store.sandboxes.remove(taken);
  expect(await store.fleet.forget(host, -LOST_MS)).toBe(true);
  expect(await store.sandboxes.get(left)).toBeUndefined();
  expect(await store.sandboxes.get(elsewhere)).toMatchObject({ state: 'warm' });
});

test('a host is forgotten only when it is silent and nothing is on it', async () => {
  const host = name('host');
  await hosts({ [host]: GIB });
  const { sandboxId } = await sandbox(host);
  expect(await store.fleet.hosts(LOST_MS, host)).toMatchObject([{ hostId: host, isThere: true, sandboxes: { running: 1 }, snapshots: 0, reservedBytes: GIB }]);
  expect(await store.fleet.forget(host, LOST_MS)).toBe(false);
  await store.sandboxes.remove(sandboxId);
  expect(await store.fleet.forget(host, LOST_MS)).toBe(false);
  await until(async () => store.fleet.forget(host, 1), 'it has been silent for a millisecond');
  expect(await store.fleet.hosts(LOST_MS, host)).toEqual([]);
  expect(await store.fleet.setDraining(host, true)).toBe(false);
});

test('a sandbox is in use while a call in it runs, and otherwise while code waits for its calls', async () => {
  const { conversationId } = await sandbox(name('host'));
  expect(await store.sandboxUses.inUse(conversationId)).toBe('no');
  const call = await newCall(store, conversationId);
  expect(await store.sandboxUses.inUse(conversationId)).toBe('no');
  await store.toolCalls.claim(call.callId, call.hash);
  expect(await store.sandboxUses.inUse(conversationId)).toBe('works');
  const method = { ...call, callId: newId('call'), parentCallId: call.callId, number: 1 };
  await store.toolCalls.proposeMethod(method, []);
  expect(await store.sandboxUses.inUse(conversationId)).toBe('waits');
  await store.toolCalls.claim(method.callId, method.hash);
  expect(await store.sandboxUses.inUse(conversationId)).toBe('works');
});

const RUNTIMES = ['runc', 'runsc'];
const LABELS = ['gpu', 'zone=a'];
const IMAGES = ['one:1', 'two:1'];
const TEMPLATES = ['small', 'large'];

const anyHost = record({
  isDraining: boolean(),
  runtimes: subarray(RUNTIMES),
  labels: option(subarray(LABELS), { nil: undefined }),
  images: option(subarray(IMAGES), { nil: undefined }),
  standardImage: option(boolean(), { nil: undefined }),
  allowedGib: option(integer({ min: 1, max: 4 }), { nil: undefined }),
  gib: nat(3),
  warmOf: option(constantFrom(...TEMPLATES), { nil: undefined }),
});
const anyNeed = record({
  runtime: option(constantFrom('runsc'), { nil: undefined }),
  labels: option(subarray(LABELS, { minLength: 1 }), { nil: undefined }),
  image: option(constantFrom(...IMAGES), { nil: undefined }),
  warmOf: option(constantFrom(...TEMPLATES), { nil: undefined }),
});
type AnyHost = typeof anyHost extends Arbitrary<infer T> ? T : never;
type AnyNeed = typeof anyNeed extends Arbitrary<infer T> ? T : never;

/** The rules: what a host must have, and what makes it come before another one. */
function ranked(all: (AnyHost & { hostId: string })[], { runtime, labels = [], image, warmOf }: AnyNeed) {
  const isFit = (host: AnyHost) =>
    !host.isDraining && (runtime === undefined || host.runtimes.includes(runtime)) && labels.every((label) => host.labels?.includes(label) === true);
  const reserved = ({ gib, warmOf: warm }: AnyHost) => gib + (warm === undefined ? 0 : 1);
  const isWarm = (host: AnyHost) => warmOf !== undefined && host.warmOf === warmOf;
  const lacks = ({ images, standardImage }: AnyHost) => (image === undefined ? standardImage === false : images?.includes(image) === false);
  return all
    .filter(isFit)
    .toSorted(
      (one, other) =>
        Number(isWarm(other)) - Number(isWarm(one)) ||
        Number(lacks(one)) - Number(lacks(other)) ||
        reserved(one) - reserved(other) ||
        (one.hostId < other.hostId ? -1 : 1),
    )
    .map((host) => ({
      hostId: host.hostId,
      load: reserved(host) / 8,
      ...(host.allowedGib !== undefined && { allowedBytes: host.allowedGib * GIB, roomBytes: (host.allowedGib - host.gib) * GIB }),
      ...(isWarm(host) && { hasWarm: true }),
      ...(lacks(host) && { lacksImage: true }),
    }));
}

test('of any hosts, those that have what is needed: with a warm sandbox first, then with the image, then the least loaded', async () => {
  const followsTheRules = asyncProperty(array(anyHost, { maxLength: 5 }), array(anyNeed, { minLength: 1, maxLength: 4 }), async (drawn, needs) => {
    await hosts({});
    const all = drawn.map((host, index) => ({ ...host, hostId: name(`h${index}`) }));
    for (const { hostId, isDraining, allowedGib, gib, warmOf, ...said } of all) {
      await store.hosts.beat(hostId, LOST_MS);
      if (gib > 0) await sandbox(hostId, { memoryMb: gib * 1024 });
      if (warmOf !== undefined) await warmSandbox(hostId, warmOf);
      const allowed = allowedGib !== undefined && { allowedBytes: allowedGib * GIB };
      await store.fleet.describe(hostId, { version: '1', memoryBytes: 8 * GIB, ...allowed, ...withoutUndefined(said) });
      await store.fleet.setDraining(hostId, isDraining);
    }
    for (const need of needs) {
      const { warmOf, ...others } = need;
      const wanted = { sandboxId: newId('sbx'), ...withoutUndefined(others), ...(warmOf !== undefined && { warmOf: ['none', warmOf] }) };
      expect(await store.fleet.candidates(wanted, LOST_MS)).toEqual(ranked(all, need));
    }
  });
  await assert(followsTheRules, { numRuns: 40 });
}, 120_000);

async function warmSandbox(hostId: string, template: string): Promise<void> {
  const sandboxId = newId('sbx');
  const row = { sandboxId, hostId, containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}`, options: { template } };
  await store.pools.add(row, { key: template, slot: 0 });
  const added = await store.sandboxes.get(sandboxId);
  await store.sandboxes.change(sandboxId, added!.generation, { state: 'warm' });
}
