import { Client } from 'pg';
import { pino } from 'pino';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createTestDatabase } from '../support/databases.ts';
import { until } from '../e2e/support.ts';
import { runLine, type LineOptions } from './support.ts';

const LOST_MS = 60_000;
let store: Store;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase({ sandboxes: 'invented' });
  store = await openStore({ url: database.url, log: pino({ level: 'silent' }), poolSize: 2 });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const line = (words: string[], { environment = {}, ...options }: LineOptions = {}) =>
  runLine(undefined, ['hosts', ...words], {
    environment: { ...process.env, DATABASE_URL: database.url, LONGSHORE_BLOBS: undefined, ...environment },
    ...options,
  });

async function run(statement: string): Promise<void> {
  const client = new Client(database.url);
  await client.connect();
  await client.query(statement);
  await client.end();
}

async function sandboxOn(hostId: string, sandboxId: string): Promise<void> {
  await store.sandboxes.ensure({ sandboxId, tenantId: 'default', state: 'stopped', hostId, containerName: sandboxId, volumeName: sandboxId, options: {} });
}

test('hosts are listed and shown, drained, resumed and removed', async () => {
  expect((await line(['ls'])).out).toBe('No hosts.\n');
  await store.hosts.beat('a', LOST_MS);
  await store.fleet.describe('a', { version: '9.9.9', runtimes: ['runc', 'runsc'], memoryBytes: 4 * 2 ** 30, cpus: 2 });
  await sandboxOn('a', 'sbx_1');
  const [head, row] = (await line(['ls'])).out.split('\n');
  expect(head).toMatch(/^HOST {2}STATE {2}SANDBOXES {2}MEMORY +DISK +VERSION {2}HEARD$/);
  expect(row).toMatch(/^a +there +1 +0 of 4096 MB +unknown +9\.9\.9 /);
  expect((await line(['show', 'a'])).out).toContain('version 9.9.9, 2 processors, runtimes runc, runsc\n');
  expect((await line(['show', 'a'])).out).toContain('disk of its engine: unknown\n');
  expect(JSON.parse((await line(['show', 'a', '--json'])).out)).toMatchObject({ hostId: 'a', isThere: true, sandboxes: { stopped: 1 } });

  expect(await line(['drain', 'a', '--no-wait'])).toMatchObject({
    code: 0,
    out: 'Host "a" is being drained. See how far it is: longshore hosts drain a\n',
    err: 'No other host is there that takes sandboxes: calls that need one wait until there is.\n',
  });
  expect((await line(['ls'])).out).toMatch(/^a +draining /m);
  const removed = await line(['remove', 'a']);
  expect([removed.code, removed.err]).toEqual([2, expect.stringContaining('"a" cannot be removed: a worker of it is there; these sandboxes are on it: sbx_1')]);
  expect((await line(['resume', 'a'])).out).toBe('Host "a" takes sandboxes again, in 10 seconds at the latest.\n');
  expect((await line(['ls'])).out).toMatch(/^a +there /m);
});

test('a host shows what it promises at most, what it has promised, who waits, and its labels', async () => {
  await store.hosts.beat('m', LOST_MS);
  const facts = { version: '1', runtimes: ['runc'], memoryBytes: 4 * 2 ** 30, cpus: 2, allowedBytes: 3 * 2 ** 30, labels: ['zone=a', 'gpu\u001B[2J'] };
  await store.fleet.describe('m', facts);
  await store.sandboxes.ensure({ sandboxId: 'sbx_m', tenantId: 'default', state: 'running', hostId: 'm', containerName: 'm', volumeName: 'm', options: {} });
  const waits = { neededMb: 2560, host: 'm', promisedMb: 1024, allowedMb: 3072, ahead: 0 };
  await store.roomQueue.join({ waiter: 'sbx_w', tenantId: 'default', hostId: 'm', waits });
  expect((await line(['ls'])).out).toMatch(/^m +there +1 +1024 of 3072 MB /m);
  const { out } = await line(['show', 'm']);
  expect(out).toContain('labels zone=a, gpu\\u001b[2J\nmemory limits of its sandboxes with processes: 1024 of 3072 MB\n');
  expect(out).toContain('it promises 3072 MB of the 4096 MB of the machine at most; sandboxes that wait for it or for any host: 1\n');
});

test('drain says what is left and why until nothing is; an interrupt ends only the showing', async () => {
  await store.hosts.beat('b', LOST_MS);
  await sandboxOn('b', 'sbx_2');
  const interrupt = new AbortController();
  const watching = line(['drain', 'b'], { interrupt: interrupt.signal });
  interrupt.abort();
  expect(await watching).toMatchObject({ code: 130 });
  expect(await store.fleet.hosts(LOST_MS, 'b')).toMatchObject([{ drainingSince: expect.any(String) }]);

  // So long ago that its workers know of it.
  await run(`update hosts set draining_since = draining_since - interval '1 minute' where host_id = 'b'`);
  const again = line(['drain', 'b', '--json']);
  const row = (await store.sandboxes.get('sbx_2'))!;
  await store.sandboxes.change('sbx_2', row.generation, { state: 'archived', archive: { files: { blobId: 'b', bytes: 1, sha256: 'x' } } });
  const { out, code } = await again;
  expect(code).toBe(0);
  expect(JSON.parse(out.trim().split('\n').at(-1)!)).toMatchObject({ left: [] });
});

test('drain ends when nothing is left and all workers of the host have heard of it', async () => {
  await store.hosts.beat('d', LOST_MS);
  const draining = line(['drain', 'd']);
  await until(async () => (await store.fleet.hosts(LOST_MS, 'd'))[0]?.drainingSince !== undefined, 'it is being drained');
  // A beat that was just before another worker has had one.
  await run(`update hosts set heard_at = draining_since + interval '9 seconds' where host_id = 'd'`);
  await run(`update hosts set heard_at = draining_since + interval '10 seconds' where host_id = 'd'`);
  const { code, out } = await draining;
  expect(code).toBe(0);
  expect(out).toMatch(/^0 of 0 moved; waiting until all workers of the host know that it is drained\n/);
  expect(out).toMatch(/\n0 of 0 moved\nNothing is left on host "d"\. It takes no sandboxes until: longshore hosts resume d\n$/);
});

test('drain waits for a sandbox that is being brought back from the archive there', async () => {
  await store.hosts.beat('g', LOST_MS);
  await store.sandboxes.ensure({ sandboxId: 'sbx_g', tenantId: 'default', state: 'archived', hostId: 'x', containerName: 'g', volumeName: 'g', options: {} });
  const woken = (await store.sandboxes.promise('sbx_g', 1, 'g'))!;
  await store.fleet.setDraining('g', true);
  await run(`update hosts set draining_since = draining_since - interval '1 minute' where host_id = 'g'`);
  const left = [{ sandboxId: 'sbx_g', state: 'archived', why: 'it is being brought back' }];
  expect(JSON.parse((await line(['drain', 'g', '--no-wait', '--json'])).out)).toEqual({ moved: 0, all: 1, left });
  await store.sandboxes.release('sbx_g', { token: woken.token! });
  expect((await line(['drain', 'g'])).out).toMatch(/^0 of 0 moved\nNothing is left/);
});

test('drain ends with a failure when the host is taken back or removed meanwhile, and says what it waits for where no worker is', async () => {
  await store.hosts.beat('e', LOST_MS);
  await sandboxOn('e', 'sbx_e');
  const drained = async () => (await store.fleet.hosts(LOST_MS, 'e'))[0]?.drainingSince !== undefined;
  const draining = line(['drain', 'e']);
  await until(drained, 'it is being drained');
  await store.fleet.setDraining('e', false);
  const resumed = await draining;
  expect([resumed.code, resumed.err]).toEqual([
    1,
    expect.stringContaining('Host "e" is not being drained any more, and takes sandboxes. To drain it again: longshore hosts drain e.\n'),
  ]);
  expect(resumed.out).not.toContain('Nothing is left');

  await run(`update hosts set heard_at = heard_at - interval '1 hour' where host_id = 'e'`);
  const left = [{ sandboxId: 'sbx_e', state: 'stopped', why: 'no worker of its host is there' }];
  expect(JSON.parse((await line(['drain', 'e', '--no-wait', '--json'])).out)).toEqual({ moved: 0, all: 1, left });
  await store.fleet.setDraining('e', false);
  const watching = line(['drain', 'e']);
  await until(drained, 'it is being drained');
  await run(`delete from hosts where host_id = 'e'`);
  expect(await watching).toMatchObject({ code: 1, err: expect.stringContaining('Host "e" was removed.\n') });
  expect(await line(['drain', 'e'])).toMatchObject({ code: 2 });
});

test('what keeps a host from being removed is named, with what to do about it; warm sandboxes do not', async () => {
  await store.hosts.beat('f', LOST_MS);
  await store.pools.add({ sandboxId: 'sbx_f', hostId: 'f', containerName: 'f', volumeName: 'f', options: {} }, { key: 'small', slot: 1 });
  expect((await line(['remove', 'f'])).err).toContain('"f" cannot be removed: a worker of it is there. Stop its workers\n');
  await run(`update hosts set heard_at = heard_at - interval '1 hour' where host_id = 'f'`);
  expect((await line(['resume', 'f'])).out).toBe('Host "f" takes sandboxes again when a worker of it is started.\n');
  await store.snapshots.insert({ snapshotId: 'snap_f', sandboxId: 'sbx_f', tenantId: 'default', hostId: 'f', volumeName: 'v', options: {} });
  expect((await line(['remove', 'f'])).err).toContain('1 snapshots are on it and not in the blob store. Remove these snapshots\n');
  await store.snapshots.remove('snap_f');
  expect((await line(['remove', 'f'])).out).toBe('Host "f" is removed.\n');
  expect(await store.sandboxes.get('sbx_f')).toBeUndefined();
});

test('hosts that nobody knows, and archives that other hosts could not read, are refused', async () => {
  const unknown = await line(['drain', 'nowhere']);
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('nothing is known of a host "nowhere"')]);
  await store.hosts.beat('c', LOST_MS);
  const files = { environment: { LONGSHORE_BLOBS: 'file:///var/blobs' } };
  const refused = await line(['drain', 'c', '--no-wait'], files);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('other hosts cannot read the directory file:///var/blobs if it is of one machine')]);
  expect(await store.fleet.hosts(LOST_MS, 'c')).not.toMatchObject([{ drainingSince: expect.any(String) }]);
  expect((await line(['drain', 'c', '--no-wait', '--shared-directory'], files)).code).toBe(0);
});
