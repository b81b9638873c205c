import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { loadConfig } from '../../src/platform/config.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { openStore } from '../../src/store/open-store.ts';
import { createTestDatabase, testInstallation } from './databases.ts';
import { takeLeftovers } from './leftovers.ts';

const before = process.env['LONGSHORE_TEST_RUN'];
// No longer than a run's own name, of which it is not the beginning.
const run = testInstallation().replace(/^test/, 'gone');
const alone = { run, otherRuns: async () => ['another'], settleMs: 0 };
const docker = (...args: string[]) => runCommand('docker', args);
let directory: string;
beforeAll(async () => {
  process.env['LONGSHORE_TEST_RUN'] = run;
  directory = await mkdtemp(join(tmpdir(), 'longshore-census-'));
});
afterAll(async () => {
  // Where the test has failed.
  await takeLeftovers(alone);
  process.env['LONGSHORE_TEST_RUN'] = before;
  await rm(directory, { recursive: true });
});

/** A sandbox that the row says has ended, another that it says has not, a snapshot and a blob; returns what has to be reported about them. */
async function writeRecords(url: string): Promise<string[]> {
  await using store = await openStore({ url, log: pino({ level: 'silent' }) });
  const place = { tenantId: 'tenant', hostId: 'host', options: {} };
  for (const sandboxId of ['sbx_ended', 'sbx_open']) {
    await store.sandboxes.ensure({ ...place, sandboxId, state: 'running', containerName: sandboxId, volumeName: sandboxId });
  }
  await store.sandboxes.change('sbx_ended', 1, { state: 'destroyed' });
  await store.snapshots.insert({ ...place, snapshotId: 'snap_1', sandboxId: 'sbx_open', volumeName: 'v' });
  const { blobId } = await store.blobs.put(Readable.from([Buffer.from('x')]));
  return [`blob ${blobId}`, 'sandbox sbx_open, running by its row', 'snapshot snap_1 of sbx_open'];
}

test('whatever a run leaves behind is told by its kind and removed: on the engine, on the machine, and in the database', async () => {
  const [installation, thing] = [`${run}-1`, `census-${run}`];
  const label = ['--label', `longshore.installation=${installation}`];
  await docker('volume', 'create', ...label, thing);
  await docker('create', '--name', thing, ...label, loadConfig().LONGSHORE_SANDBOX_IMAGE);
  const changes = ['longshore.image=template', `longshore.template=${installation}`].flatMap((text) => ['--change', `LABEL ${text}`]);
  const image = (await docker('commit', ...changes, thing, `longshore-template:${run}`)).stdout.trim();
  // Its parent ends, as does a worker that forgets what it has started.
  const parent = spawn('sh', ['-c', 'sleep 987 & echo $!'], { env: process.env });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  const checkpoint = (container: string) => join(directory, 'containers', container, 'checkpoints/rest-1');
  for (const container of ['old', 'new']) await mkdir(checkpoint(container), { recursive: true });
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const records = await writeRecords(database.url);

  const census = { ...alone, checkpoints: { directory, before: [checkpoint('old')] } };
  expect(await takeLeftovers(census)).toEqual([
    `process ${String(pid).trim()}: sleep 987`,
    `container ${thing} of ${installation}`,
    `volume ${thing} of ${installation}`,
    `image ${image} of ${installation}`,
    `checkpoint ${checkpoint('new')}, whose container is gone`,
    ...records.map((what) => `${what} in database ${name}`),
    `database ${name}`,
  ]);
  expect(await takeLeftovers(census)).toEqual([]);
});

test('a database with rows of sandboxes that were not ended is dropped, and fails its tests', async () => {
  const database = await createTestDatabase();
  const records = await writeRecords(database.url);
  await expect(database[Symbol.asyncDispose]()).rejects.toThrow(`the tests have ended, and there is still: ${records.join('; ')}`);
  await expect(openStore({ url: database.url, log: pino({ level: 'silent' }) })).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
});
