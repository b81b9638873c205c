import { Client } from 'pg';
import type { PluginReport } from '../../src/store/plugin-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { openStore } from '../../src/store/open-store.ts';
import { BY, useTestStore, silent } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const settingsOf = async (id: string) => (await store.plugins.settings()).find(({ pluginId }) => pluginId === id);
const reportsOf = async (id: string) => (await store.plugins.reports()).filter(({ pluginId }) => pluginId === id);

test('a wish makes the row of a plugin; without one there is none', async () => {
  expect(await settingsOf('wished')).toBeUndefined();
  expect(await store.plugins.enable('wished', false, BY)).toMatchObject({ pluginId: 'wished', enabled: false, config: {}, configVersion: 0, reloads: 0 });
  expect(await store.plugins.reload('wished', { actor: { kind: 'login', id: 'ada' } })).toMatchObject({ enabled: false, reloads: 1 });
  expect(await store.plugins.configure('wished', { a: 1 }, BY)).toMatchObject({ enabled: false, reloads: 1, config: { a: 1 }, configVersion: 1 });
});

test('a configuration is written over the version that was read, or not at all', async () => {
  expect(await store.plugins.configure('versioned', { a: 1 }, BY, 3)).toBeUndefined();
  expect(await store.plugins.configure('versioned', { a: 1 }, BY, 0)).toMatchObject({ configVersion: 1 });
  expect(await store.plugins.configure('versioned', { a: 2 }, BY, 0)).toBeUndefined();
  expect(await store.plugins.configure('versioned', { a: 2 }, BY, 1)).toMatchObject({ configVersion: 2, config: { a: 2 } });
});

test('of many workers that refuse a configuration one takes it back, and only while it is the newest', async () => {
  await store.plugins.configure('refused', { a: 1 }, BY);
  await store.plugins.configure('refused', { a: 2 }, BY);
  await Promise.all([1, 2, 3].map((worker) => store.plugins.takeBackConfig('refused', 2, `no, says ${worker}`)));
  expect(await settingsOf('refused')).toMatchObject({ config: { a: 1 }, configVersion: 3, configProblem: expect.stringMatching(/^no, says \d$/) as string });
  await store.plugins.takeBackConfig('refused', 3, 'nor the one before');
  expect(await settingsOf('refused')).toMatchObject({ config: { a: 1 }, configVersion: 3 });
  const written = await store.plugins.configure('refused', { a: 3 }, BY);
  expect(written).toMatchObject({ config: { a: 3 }, configVersion: 4 });
  expect(written).not.toHaveProperty('configProblem');
});

test('grants are added up, also those of callers at the same time, and exactly what is named is revoked', async () => {
  const hosts = Array.from({ length: 20 }, (_, index) => `h${index}.example`);
  await Promise.all(hosts.map((host) => store.plugins.grant('granted', { network: [host, 'Both.example'], env: ['A'] }, BY)));
  expect(await settingsOf('granted')).toMatchObject({ enabled: true, granted: { network: ['both.example', ...hosts].toSorted(), env: ['A'] } });
  await Promise.all(hosts.map((host) => store.plugins.revoke('granted', { network: [host] }, BY)));
  expect(await store.plugins.grant('granted', { fs: ['/srv'], time: true }, BY)).toMatchObject({
    granted: { network: ['both.example'], env: ['A'], fs: ['/srv'], time: true },
  });
  expect(await store.plugins.revoke('granted', { network: ['BOTH.example'], env: ['A'], fs: ['/srv'], time: true }, BY)).toMatchObject({ granted: {} });
  expect(await store.plugins.enable('granted', false, BY)).toMatchObject({ enabled: false, granted: {} });
});

test('each host reports for itself, and what it does not name any more is forgotten', async () => {
  const report: PluginReport = { name: './p', health: 'loaded', pluginId: 'p', version: '1', tools: ['run'], permissions: { env: ['A'] }, alerts: [] };
  await store.plugins.report('host-1', report);
  await store.plugins.report('host-1', { ...report, health: 'failed', error: 'no licence' });
  await store.plugins.report('host-1', { name: './broken', health: 'failed', tools: [], permissions: {}, alerts: [] });
  await store.plugins.report('host-2', report);
  const at = expect.any(String) as string;
  const reports = await store.plugins.reports();
  expect(reports.filter(({ pluginId }) => pluginId === 'p')).toEqual([
    { ...report, hostId: 'host-1', health: 'failed', error: 'no licence', at },
    { ...report, hostId: 'host-2', at },
  ]);
  await store.plugins.forget('host-1', ['./p']);
  expect((await store.plugins.reports()).map(({ hostId, name }) => `${hostId} ${name}`)).toEqual(['host-1 ./p', 'host-2 ./p']);
});

test('a host that nothing was heard of for some minutes is away, and forgotten after a week; a sign of life changes nothing else', async () => {
  const report: PluginReport = { name: './q', health: 'loaded', pluginId: 'q', tools: [], permissions: {}, alerts: [] };
  for (const host of ['host-3', 'host-4', 'host-5']) await store.plugins.report(host, report);
  const client = new Client(url);
  await client.connect();
  const silent = (host: string, time: string) => client.query(`update plugin_reports set reported_at = now() - $2::interval where host_id = $1`, [host, time]);
  await silent('host-3', '4 minutes');
  await silent('host-4', '4 minutes');
  await silent('host-5', '8 days');
  await client.end();
  const before = await reportsOf('q');
  expect(before.map(({ hostId, away }) => [hostId, away])).toEqual([
    ['host-3', true],
    ['host-4', true],
    ['host-5', true],
  ]);
  await store.plugins.stillHere('host-3');
  await store.plugins.forget('host-3', ['./q']);
  const { away, ...present } = before[0]!;
  expect(await reportsOf('q')).toEqual([present, { ...before[1], away }]);
});

test('a change by another process wakes those who follow, and an abort ends them', async () => {
  const stop = new AbortController();
  const other = await openStore({ url: url, log: silent, poolSize: 1 });
  const seen: boolean[] = [];
  for await (const _ of store.plugins.follow(stop.signal)) {
    const followed = await settingsOf('followed');
    seen.push(followed !== undefined);
    if (followed) stop.abort();
    else await other.plugins.enable('followed', false, BY);
  }
  expect(seen.at(-1)).toBe(true);
  await other[Symbol.asyncDispose]();
});
