import { Client } from 'pg';
import { loadConfig } from '../../../src/platform/config.ts';
import { createTestSandboxes, until, type TestSandboxes } from './support.ts';

const HOUR_MS = 3_600_000;

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const realNow = Date.now.bind(Date);
afterEach(() => {
  Date.now = realNow;
});

async function run(statement: string): Promise<{ name: string }[]> {
  const client = new Client(parts.databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(statement);
  await client.end();
  return rows;
}

async function makeVolume(name: string, more: Record<string, string> = {}): Promise<string> {
  await parts.docker.createVolume({ Name: name, Labels: { 'longshore.installation': parts.installation, 'longshore.sandbox': 'sbx_no_row', ...more } });
  return name;
}

test('what a copy has made is removed an hour after it was first seen, by the clock of the database, however the clock of this machine is set', async () => {
  const copy = await makeVolume(`copy.${parts.installation}.1`, { 'longshore.role': 'copy' });
  Date.now = () => realNow() + 2 * HOUR_MS;
  expect((await parts.sandboxes.reap()).removedVolumes).toEqual([]);
  expect((await parts.another().reap()).removedVolumes).toEqual([]);
  expect(await run('select name from copies_seen')).toEqual([{ name: copy }]);
  await run(`update copies_seen set seen_at = seen_at - interval '59 minutes'`);
  expect((await parts.sandboxes.reap()).removedVolumes).toEqual([]);
  await run(`update copies_seen set seen_at = seen_at - interval '1 minute'`);
  expect((await parts.another().reap()).removedVolumes).toEqual([copy]);
  await parts.sandboxes.reap();
  expect(await run('select name from copies_seen')).toEqual([]);
});

test('a container that was to copy and was never started is removed after five minutes: it keeps the volume of a sandbox in use', async () => {
  const volume = await makeVolume(`${parts.installation}-source`, { 'longshore.sandbox': 'sbx_other' });
  const made = await parts.docker.createContainer({
    name: `copy.${parts.installation}-1`,
    Image: loadConfig().LONGSHORE_SANDBOX_IMAGE,
    Labels: { 'longshore.installation': parts.installation, 'longshore.role': 'copy' },
    HostConfig: { Mounts: [{ Type: 'volume', Source: volume, Target: '/from', ReadOnly: true }] },
  });
  Date.now = () => realNow() + 2 * HOUR_MS;
  expect(await parts.sandboxes.reap()).toMatchObject({ removedContainers: [], removedVolumes: [] });
  await run(`update copies_seen set seen_at = seen_at - interval '4 minutes 30 seconds'`);
  expect(await parts.sandboxes.reap()).toMatchObject({ removedContainers: [], removedVolumes: [] });
  await run(`update copies_seen set seen_at = seen_at - interval '30 seconds'`);
  expect(await parts.sandboxes.reap()).toMatchObject({ removedContainers: [`copy.${parts.installation}-1`], removedVolumes: [volume] });
  await expect(made.inspect()).rejects.toMatchObject({ statusCode: 404 });
});

test('what no copy has made is removed when it is older than a minute', async () => {
  const volume = await makeVolume(`${parts.installation}-sbx_no_row`);
  expect((await parts.sandboxes.reap()).removedVolumes).toEqual([]);
  Date.now = () => realNow() + 60_000;
  await until(async () => (await parts.sandboxes.reap()).removedVolumes.includes(volume), 'it is a minute old');
});
