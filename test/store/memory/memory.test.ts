import { array, asyncProperty, assert, constantFrom, integer, record } from 'fast-check';
import { MEMORY_LIMITS, type MemoryChange, type MemoryOutcome, type MemoryPlace } from '../../../src/contracts/memory/memory.ts';
import { createMemory } from '../../../src/store/memory/memory.ts';
import { openDatabase, type Database } from '../../../src/store/database/database.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, silent, useTestStore } from '../support.ts';

/** Files that are kept between conversations: versions, limits and what is left when a user is erased. */
let store: Store;
let database: Database;
// Before the database goes.
afterAll(() => database.close());
useTestStore(({ store: opened, url }) => {
  store = opened;
  database = openDatabase({ url, log: silent, poolSize: 10 });
});

let places = 0;
const newPlace = (overrides: Partial<MemoryPlace> = {}): MemoryPlace => ({ tenantId: 'acme', scope: 'user', owner: `user-${(places += 1)}`, ...overrides });
const by = (callId?: string, userId = 'ann') => ({ kind: 'conversation' as const, id: 'conv_1', userId, ...(callId !== undefined && { callId }) });
const change = (path: string, content: string | null, version = 0, callId?: string): MemoryChange => ({ path, content, version, by: by(callId) });
const versionOf = (outcome: MemoryOutcome) => (outcome.outcome === 'written' ? outcome.version : -1);

test('a file is written with the version that was read, and every version says who has written it', async () => {
  const place = newPlace();
  expect(await store.memory.write(place, change('notes/style.md', 'Short.\nSecond line.', 0, 'call_1'))).toMatchObject({ outcome: 'written', version: 1 });
  expect(await store.memory.write(place, change('notes/style.md', 'Long.'))).toEqual({ outcome: 'conflict', version: 1 });
  expect(await store.memory.write(place, change('other.md', 'x', 7))).toEqual({ outcome: 'conflict', version: 0 });
  expect(await store.memory.write(place, change('notes/style.md', 'Short, please. ü', 1))).toMatchObject({ outcome: 'written', version: 2 });
  const writer = { kind: 'conversation', id: 'conv_1' };
  expect(await store.memory.list(place)).toEqual([
    { path: 'notes/style.md', version: 2, bytes: 17, at: expect.any(String), by: writer, firstLine: 'Short, please. ü' },
  ]);
  expect(await store.memory.list(place, 'other')).toEqual([]);
  expect(await store.memory.read(place, 'notes/style.md', 1)).toMatchObject({ content: 'Short.\nSecond line.', by: { ...writer, callId: 'call_1' } });
  expect(await store.memory.read(newPlace(), 'notes/style.md')).toBeUndefined();
});

test('a removed file leaves its versions, and one that is made anew has a version that was never there', async () => {
  const place = newPlace();
  await store.memory.write(place, change('a', 'one'));
  expect(await store.memory.write(place, change('a', null, 2))).toEqual({ outcome: 'conflict', version: 1 });
  expect(await store.memory.write(place, change('a', null, 1))).toMatchObject({ outcome: 'written', version: 2 });
  expect(await store.memory.write(place, change('a', null, 0))).toEqual({ outcome: 'conflict', version: 0 });
  expect(await store.memory.read(place, 'a')).toBeUndefined();
  expect(await store.memory.read(place, 'a', 2)).toBeUndefined();
  expect(await store.memory.write(place, change('a', 'two', 1))).toEqual({ outcome: 'conflict', version: 0 });
  expect(versionOf(await store.memory.write(place, change('a', 'two')))).toBe(3);
  const history = await store.memory.history(place, 'a');
  expect(history.map(({ version, removed }) => [version, removed])).toEqual([[3, undefined], [2, true], [1, undefined]]); // prettier-ignore
  expect(await store.memory.read(place, 'a', 1)).toMatchObject({ content: 'one' });
});

test('a call writes once, however often it is repeated and whatever came between', async () => {
  const place = newPlace();
  const first = await store.memory.write(place, change('a', 'one', 0, 'call_a'));
  await store.memory.write(place, change('a', 'two', 1, 'call_b'));
  expect(await store.memory.write(place, change('a', 'one', 0, 'call_a'))).toEqual(first);
  expect(await store.memory.read(place, 'a')).toMatchObject({ content: 'two', version: 2 });
  const removal = await store.memory.write(place, change('a', null, 2, 'call_c'));
  expect(await store.memory.write(place, change('a', null, 2, 'call_c'))).toEqual(removal);
});

test('a memory has room for so many files and bytes, and a file that is replaced counts once', async () => {
  const memory = createMemory({ database }, { ...MEMORY_LIMITS, files: 2, bytes: 10 });
  const place = newPlace();
  await memory.write(place, change('a', '12345'));
  expect(await memory.write(place, change('b', '123456'))).toEqual({ outcome: 'bytes' });
  await memory.write(place, change('b', '1234'));
  expect(await memory.write(place, change('c', ''))).toEqual({ outcome: 'files' });
  expect(await memory.write(place, change('a', '123456', 1))).toMatchObject({ outcome: 'written' });
  await memory.write(place, change('b', null, 2));
  expect(await memory.write(place, change('c', '1234'))).toMatchObject({ outcome: 'written' });
});

test('older versions are kept up to their number and size, and a file that is there always stays', async () => {
  const memory = createMemory({ database }, { ...MEMORY_LIMITS, versions: 3, olderVersions: 4, olderBytes: 1_000 });
  const place = newPlace();
  await memory.write(place, change('kept', 'k'));
  for (let version = 0; version < 5; version += 1) await memory.write(place, change('a', `v${version}`, version === 0 ? 0 : version + 1));
  expect((await memory.history(place, 'a')).map(({ version }) => version)).toEqual([6, 5, 4]);
  for (const path of ['b', 'c', 'd']) await memory.write(place, change(path, null, versionOf(await memory.write(place, change(path, path)))));
  expect(await memory.history(place, 'b')).toEqual([]);
  expect((await memory.history(place, 'a')).map(({ version }) => version)).toEqual([6]);
  expect((await memory.list(place)).map(({ path }) => path)).toEqual(['a', 'kept']);
  const small = createMemory({ database }, { ...MEMORY_LIMITS, olderBytes: 3 });
  await small.write(place, change('a', 'new', 6));
  await small.write(place, change('a', 'newer', 13));
  expect((await small.history(place, 'a')).map(({ version }) => version)).toEqual([14, 13]);
});

/** What some writers do at the same time: each reads a file and writes it with the version that it read, or removes it. */
const action = record({ path: constantFrom('a', 'b', 'c'), kind: constantFrom('write', 'write', 'delete'), size: integer({ min: 0, max: 6 }) });
test('whatever the interleaving, each change follows on the version that its writer had read, and no limit is exceeded', async () => {
  const limits = { ...MEMORY_LIMITS, files: 2, bytes: 9 };
  const memory = createMemory({ database }, limits);
  const run = asyncProperty(array(array(action, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 }), async (writers) => {
    const place = newPlace();
    const changes: { path: string; from: number; to: number; content: string | null }[] = [];
    const write = async (actions: (typeof writers)[number], number: number) => {
      for (const [index, { path, kind, size }] of actions.entries()) {
        const from = (await memory.read(place, path))?.version ?? 0;
        const content = kind === 'delete' ? null : `${number}`.repeat(size);
        const callId = `call_${places}_${number}_${index}`;
        const attempt = () => memory.write(place, { path, content, version: from, by: by(callId) });
        // A repeated attempt may run beside the first one.
        const versions = (await Promise.all([attempt(), attempt()])).map(versionOf).filter((version) => version > 0);
        expect(new Set(versions).size).toBe(Math.min(versions.length, 1));
        if (versions[0] !== undefined) changes.push({ path, from, to: versions[0], content });
      }
    };
    await Promise.all(writers.map(write));
    const live = new Map<string, { version: number; content: string }>();
    for (const { path, from, to, content } of changes.toSorted((a, b) => a.to - b.to)) {
      expect(live.get(path)?.version ?? 0).toBe(from);
      if (content === null) live.delete(path);
      else live.set(path, { version: to, content });
      const held = [...live.values()];
      expect(held.length).toBeLessThanOrEqual(limits.files);
      expect(held.reduce((sum, file) => sum + file.content.length, 0)).toBeLessThanOrEqual(limits.bytes);
    }
    expect(changes.map(({ to }) => to).toSorted((a, b) => a - b)).toEqual(changes.map((_, index) => index + 1));
    expect((await memory.list(place)).map(({ path, version }) => [path, version])).toEqual(
      [...live.entries()].map(([path, { version }]) => [path, version] as const).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  });
  await assert(run, { numRuns: 40 });
}, 60_000);

test('erasing a user removes the memory of the user, and the user from what is shared', async () => {
  const own = newPlace({ tenantId: 'erased', owner: 'ann' });
  const shared = newPlace({ tenantId: 'erased', scope: 'tenant', owner: '' });
  await store.memory.write(own, change('a', 'mine', 0, 'call_1'));
  await store.memory.write(own, change('b', 'gone'));
  await store.memory.write(own, change('b', null, 2));
  await store.memory.write(shared, change('a', 'ours', 0, 'call_1'));
  await store.memory.write(shared, { ...change('a', 'ours, too', 1), by: by('call_2', 'bob') });
  await store.memory.write({ ...own, tenantId: 'other' }, change('a', 'of another tenant'));
  expect(await store.memory.eraseUser('erased', 'ann')).toBe(1);
  expect(await store.memory.list(own)).toEqual([]);
  expect(await store.memory.history(own, 'b')).toEqual([]);
  expect((await store.memory.history(shared, 'a')).map(({ by: writer }) => writer)).toEqual([
    { kind: 'conversation', id: 'conv_1', callId: 'call_2' },
    { kind: 'erased', id: '' },
  ]);
  expect(await store.memory.read({ ...own, tenantId: 'other' }, 'a')).toBeDefined();
  expect(await store.memory.eraseUser('erased', 'ann')).toBe(0);
});

test('changes by people are in the audit log, once each, without what was written', async () => {
  const place = newPlace({ tenantId: 'audited' });
  const audit = { source: BY, target: 'sha256:abc' };
  await store.memory.write(place, change('secret-name.md', 'secret'), audit);
  await store.memory.write(place, change('secret-name.md', 'conflict'), audit);
  await store.memory.write(place, change('secret-name.md', null, 1), audit);
  await store.memory.write(place, change('by-an-agent.md', 'x'));
  const rows = await store.audit.list({ tenantId: 'audited', limit: 10 });
  expect(rows.map(({ action: done, target, details, actor }) => [done, target, details, actor])).toEqual([
    ['memory.delete', 'sha256:abc', { scope: 'user', version: 2, bytes: 0 }, BY.actor],
    ['memory.write', 'sha256:abc', { scope: 'user', version: 1, bytes: 6 }, BY.actor],
  ]);
});
