import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedFetch } from '../../../../src/network/guarded-fetch.ts';
import { contextOf, problemOf, run } from '../../isolates/support.ts';
import { hostOf, loadFixture } from '../support.ts';
import { entryOf, loadPandoraFrom, permitting } from './support.ts';
import { bench, env, plugin, toolOf, useWeather } from './weather.ts';

useWeather();

test('a compartment has no capability that was not granted, however loudly a tool asks for it', async () => {
  const context = contextOf('conv-1', { env });
  const granted = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1' };
  expect(await run(plugin, 'globals', {}, context)).toEqual({ works: [], missing: [], env: granted });
  expect(toolOf('globals')).toMatchObject({ isolation: 'compartment', environment: Object.keys(granted) });
});

test('host has the full process, for tools that need native dependencies, and needs the word of the operator', async () => {
  expect(await problemOf(loadFixture('pandora-native', bench.isolates))).toBe(
    'Plugin "./pandora-native": its entry host.mjs asks for the worker\'s own process. If you trust it, name it in LONGSHORE_HOST_PLUGINS',
  );
  const native = await loadFixture('pandora-native', bench.isolates, { trusted: true });
  const all = { env: { DECLARED: 'd', SHOWN: 's', OTHER: 'o' } };
  expect(await run(native, 'host', {}, contextOf('conv-1', all))).toEqual({ native: true, process: 'object', env: { SHOWN: 's', DECLARED: 'd' } });
  expect(await run(native, 'fenced', {}, contextOf('conv-1', all))).toEqual({ process: 'undefined', env: {} });
  expect(native.tools.map(({ id, isolation }) => `${id} ${isolation}`)).toEqual(['host host', 'fenced compartment']);
  expect(native.alerts.map(({ text }) => text)).toEqual([
    'Its agents are not loaded; only its tools are.',
    'host.mjs resolves more tools when the plugin is loaded; they are granted {"env":["SHOWN","DECLARED"]}.',
  ]);
  await native.load!(hostOf({}, all.env));
  expect(native.tools.map(({ id }) => id)).toEqual(['host', 'late-declared-shown', 'fenced']);
});

const USES = {
  time: `return [typeof Date.now(), new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(new Date(0))]`,
  random: `const n = Math.random(); return [n >= 0 && n < 1, typeof (globalThis as any).crypto]`,
  fetches: `return (await fetch('https://listed.example/')).status`,
  reads: `return (globalThis as any).readFile('/srv/clock/x')`,
  sees: 'return env',
};
const NOTHING = {
  time: /^secure mode .*; the clock is available only while a tool with permissions\.time runs$/i,
  random: /^secure mode .*; chance is available only while a tool with permissions\.random runs$/i,
  fetches: /^fetch is not (defined|a function); the network is available only while a tool with permissions\.network runs$/,
  reads: /readFile.* is not a function; reading files is available only while a tool with permissions\.fs runs$/,
};
/** What each of the tools gives or throws. */
const outcomes = async (permissions: Record<string, unknown>) => {
  const made = await loadPandoraFrom(
    bench,
    `uses-${Object.keys(permissions)[0] ?? 'nothing'}`,
    { 'index.ts': entryOf(USES) },
    permitting(permissions as never),
  );
  const context = contextOf('conv-1', { env: { KEY: 'v', OTHER: 'o' } });
  const each = Object.keys(USES).map(async (id) => [id, await run(made, id, {}, context).catch((error: Error) => error.message)]);
  return Object.fromEntries(await Promise.all(each)) as Record<string, unknown>;
};
const refused = Object.fromEntries(Object.entries(NOTHING).map(([id, problem]) => [id, expect.stringMatching(problem) as unknown]));

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['nothing grants nothing', {}, {}],
  ['time grants Date, Date.now() and Intl.DateTimeFormat', { time: true }, { time: ['number', '1/1/1970'] }],
  ['random grants Math.random(), and randomness for cryptography is never there', { random: true }, { random: [true, 'undefined'] }],
  ['network grants a fetch that the worker sends', { network: ['listed.example'] }, { fetches: 201 }],
  ['env grants the declared variables alone', { env: ['KEY'] }, { sees: { KEY: 'v' } }],
  [
    'fs grants reading below the declared paths alone',
    { fs: ['/srv/watch'] },
    { reads: '/srv/clock/x: is not readable for this plugin; it may read /srv/watch' },
  ],
])('%s', async (_statement, permissions, given) => {
  expect(await outcomes(permissions)).toEqual({ ...refused, sees: {}, ...given });
});

test('network grants a fetch to the declared hosts and to no others', async () => {
  const server = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const made = await loadPandoraFrom(
    bench,
    'hosts',
    { 'index.ts': entryOf({ get: 'return (await fetch(input.url)).text()' }, `parameters: { type: 'object' },`) },
    permitting({ network: [`listed.example:${port}`] }),
  );
  await using guarded = createGuardedFetch({
    hosts: toolOf('get', made).permissions.network!,
    resolve: async () => ['127.0.0.1'],
    allowAddresses: ['127.0.0.1'],
  });
  const get = (url: string) => problemOf(run(made, 'get', { url }, contextOf('conv-1', { fetch: guarded.fetch })));
  expect(await get(`http://listed.example:${port}/`)).toBe('no error, but "inside"');
  expect(await get(`http://other.example:${port}/`)).toBe(`Request to "other.example:${port}" refused: only these hosts are allowed: listed.example:${port}`);
  server.close();
});

test('env is a snapshot of the moment at which the plugin was loaded, and env.get a global name for it', async () => {
  const lookUp = `declare const env: any;\nconst lookUp = (name: string) => env.get(name) ?? null;\n`;
  const source = `${lookUp}${entryOf({ sees: 'return env', gets: `return ['KEY', 'OTHER', 'constructor'].map(lookUp)` })}`;
  const made = await loadPandoraFrom(bench, 'snapshot', { 'index.ts': source }, permitting({ env: ['KEY', 'LATE'] }));
  const now = contextOf('conv-1', { env: { KEY: 'changed', LATE: 'set later' } });
  expect(await run(made, 'sees', {}, now)).toEqual({ KEY: 'changed', LATE: 'set later' });
  await made.load!(hostOf({}, { KEY: 'v', OTHER: 'o' }));
  expect(await run(made, 'sees', {}, now)).toEqual({ KEY: 'v' });
  expect(await run(made, 'gets', {}, contextOf('conv-2', { env: { KEY: 'changed' } }))).toEqual(['v', null, null]);
  const without = await loadPandoraFrom(bench, 'no-env', { 'index.ts': entryOf({ asks: 'return typeof (globalThis as any).env' }) });
  expect(await run(without, 'asks')).toBe('undefined');
});

test('all sandboxed tools have the safe globals, and they work', async () => {
  const works = `
    const { promise, resolve } = (() => { let resolve: any; return { promise: new Promise((done) => (resolve = done)), resolve: resolve as () => void }; })();
    let ticks = 0; const ticking = setInterval(() => { ticks += 1; if (ticks === 2) { clearInterval(ticking); resolve(); } }, 1);
    clearTimeout(setTimeout(() => { ticks = 99; }, 0)); await new Promise((done) => setTimeout(done, 1)); await promise;
    await new Promise<void>((done) => queueMicrotask(done));
    const controller = new AbortController(); let aborted = false; controller.signal.addEventListener('abort', () => { aborted = true; }); controller.abort();
    console.log('told by', { console: true });
    return { url: new URL('../b?x=1', 'https://a.example/c/d').href, query: new URLSearchParams('x=1&x=2').getAll('x'), text: new TextDecoder().decode(new TextEncoder().encode('ö')),
      base64: [btoa('hi'), atob('aGk=')], ticks, aborted: [aborted, AbortSignal.abort().aborted] };`;
  const made = await loadPandoraFrom(bench, 'globals', { 'index.ts': entryOf({ works }) });
  const context = contextOf('conv-1');
  expect(await run(made, 'works', {}, context)).toEqual({
    url: 'https://a.example/b?x=1',
    query: ['1', '2'],
    text: 'ö',
    base64: ['aGk=', 'hi'],
    ticks: 2,
    aborted: [true, true],
  });
  expect(context.told).toEqual(['info told by {"console":true}']);
});
