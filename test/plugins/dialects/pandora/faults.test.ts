import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createGuardedFetch } from '../../../../src/network/guarded-fetch.ts';
import { loadPandora } from '../../../../src/plugins/dialects/pandora/load-pandora.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { decide } from '../../../../src/plugins/approval/decide.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';
import { hostOf } from '../support.ts';
import { entryOf, loadPandoraFrom, permitting } from './support.ts';

/** What is known to go wrong where plugins of this form come from. */
let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 1_000, graceMs: 50, hookTimeoutMs: 500 });
});
afterAll(() => bench[Symbol.asyncDispose]());

const secrets = { KEY: 'v', DATABASE_URL: 'postgres://secret', HOME: '/root' };

test('does not hand the environment of the host to a tool or to resolveTools', async () => {
  const source = `${entryOf({ sees: 'return [env, typeof process]' })}
    export const resolveTools = async ({ env }) => ({ tools: [], alerts: [{ level: 'info', message: Object.keys(env).join() }] });`;
  const plugin = await loadPandoraFrom(bench, 'snoop', { 'index.ts': source.replace('({ env })', '({ env }: any)') }, permitting({ env: ['KEY'] }));
  await plugin.load!(hostOf({}, secrets));
  expect(await run(plugin, 'sees', {}, contextOf('conv-1', { env: secrets }))).toEqual([{ KEY: 'v' }, 'undefined']);
  expect(plugin.alerts.map(({ text }) => text)).toEqual(['KEY']);
  expect(createRegistry([plugin]).get('snoop:sees')?.environment).toEqual(['KEY']);
});

test('does not fail a call for what it logs, whatever that is', async () => {
  const odd = 'const self: any = {}; self.self = self; logger.warn("odd", self, 10n, Symbol("s"), undefined, { a: 1 }, new Error("late")); return "done"';
  const plugin = await loadPandoraFrom(bench, 'talker', { 'index.ts': entryOf({ says: odd }) });
  const context = contextOf('conv-1');
  expect(await run(plugin, 'says', {}, context)).toBe('done');
  expect(context.told).toEqual(['warn odd [object Object] 10 Symbol(s) undefined {"a":1} late']);
});

/** An entry that resolves one tool, or does what its configuration says. */
const RESOLVING = `${entryOf({ still: 'return "static"' })}
  export const resolveTools = async ({ pluginConfig }: any) => {
    if (pluginConfig.way === 'hang') await new Promise(() => undefined);
    if (pluginConfig.way === 'loop') for (;;);
    return { tools: tools.map((tool) => ({ ...tool, id: 'late', execute: async () => 'resolved' })) };
  };`;
const WAYS = { configFields: [{ key: 'way', label: 'Way', type: 'text' }] };

test('does not leave tools that were resolved without the approval that their entry asks for', async () => {
  const provides = { tools: { entry: 'index.ts', requireApproval: true } };
  const plugin = await loadPandoraFrom(bench, 'approved', { 'index.ts': RESOLVING }, { ...WAYS, provides });
  await plugin.load!(hostOf({}));
  const tools = createRegistry([plugin]).tools.map((tool) => [tool.id, decide({ approval: [], requireApproval: {} }, tool, {}).decision]);
  expect(tools).toEqual([
    ['approved:late', 'ask'],
    ['approved:still', 'ask'],
  ]);
});

test('does not lose its tools to a resolveTools that takes too long, and does not start one that hangs again and again', async () => {
  const plugin = await loadPandoraFrom(bench, 'hanging', { 'index.ts': RESOLVING }, WAYS);
  await plugin.load!(hostOf({}));
  const unresolved = (why: string) =>
    `Plugin "./hanging": its tools could not be resolved (${why}). The previous ones stay; correct resolveTools or its configuration`;
  const ends = () => bench.logged.filter((line) => line.startsWith('the process of a plugin was ended') && line.includes('hanging')).length;
  const attempt = async (way: string) => {
    const before = ends();
    const problem = await problemOf(plugin.updateConfig!('self', { way }, '1'));
    while (ends() === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return problem;
  };
  expect(await attempt('hang')).toBe(unresolved('hanging.load failed: it took longer than 500 ms and was aborted'));
  expect([await run(plugin, 'late'), await run(plugin, 'still')]).toEqual(['resolved', 'static']);
  expect(await attempt('loop')).toContain('its tools could not be resolved (hanging.load failed: ');
  for (let more = 0; more < 4; more += 1) await attempt('hang');
  expect(await problemOf(plugin.updateConfig!('self', {}, '2'))).toMatch(/its process was ended too often; it is tried again in \d+ s/);
  // Configuration is read in a process of its own; that of the tenant had no failure.
  expect([await run(plugin, 'late'), await run(plugin, 'still')]).toEqual(['resolved', 'static']);
  expect(plugin.tools.map(({ id }) => id)).toEqual(['still', 'late']);
  expect(plugin.alerts.map(({ level }) => level)).toEqual(['error']);
});

test('does not wait for ever for a resolveTools in the process of the worker either', async () => {
  const root = join(bench.directory, 'trusted');
  await mkdir(root);
  const provides = { tools: { entry: 'index.mjs', sandbox: 'host' } };
  await writeFile(join(root, 'pandora.manifest.json'), JSON.stringify({ manifestVersion: 1, id: 'trusted', name: 'T', pandora: '>=0.1.0', provides }));
  await writeFile(join(root, 'index.mjs'), `export const tools = []; export const resolveTools = () => new Promise(() => undefined);`);
  const plugin = await loadPandora({ name: './trusted', root, isTrusted: true, resolveTimeoutMs: 20 });
  expect(await problemOf(plugin.load!(hostOf({})))).toContain('its tools could not be resolved (it did not answer within 20 ms)');
});

test('does not reach a private address by any of its spellings, by a name that leads there, or by a redirect', async () => {
  let asked = 0;
  const inside = createServer((_request, response) => {
    asked += 1;
    response.end('inside');
  }).listen(0, '127.0.0.1');
  const outside = createServer((request, response) => response.writeHead(302, { location: request.url!.slice(1) }).end()).listen(0, '127.0.0.2');
  await Promise.all([once(inside, 'listening'), once(outside, 'listening')]);
  const [port, publicPort] = [inside, outside].map((server) => (server.address() as AddressInfo).port);
  const network = ['public.example', 'inside.example', 'localhost', '127.0.0.1', '10.0.0.1', '100.64.0.1', '169.254.169.254'];
  const source = entryOf({ get: 'return (await fetch(input.url)).status' }, `parameters: { type: 'object' },`);
  const plugin = await loadPandoraFrom(bench, 'reaching', { 'index.ts': source }, permitting({ network }));
  const addresses: Record<string, string> = { 'public.example': '127.0.0.2', 'inside.example': '::ffff:10.0.0.1', localhost: '127.0.0.1' };
  // The public host of the test is this machine under another of its addresses.
  await using guarded = createGuardedFetch({ hosts: network, resolve: async (name) => [addresses[name] ?? name], allowAddresses: ['127.0.0.2'] });
  const get = (url: string) => problemOf(run(plugin, 'get', { url }, contextOf('conv-1', { fetch: guarded.fetch })));
  const spelled = ['localhost', 'localhost.', '127.0.0.1', '127.1', '2130706433', '[::1]', '[fd00::1]', '[fe80::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'];
  const others = ['10.0.0.1', '100.64.0.1', '169.254.169.254', 'inside.example'];
  for (const host of [...spelled, ...others]) {
    expect(await get(`http://${host}:${port}/`)).toMatch(/^Request to ".*" refused: /);
    expect(await get(`http://public.example:${publicPort}/http://${host}:${port}/`)).toMatch(/^Request to ".*" refused: /);
  }
  expect(await get(`http://public.example:${publicPort}/http://public.example:${publicPort}/`)).toContain('refused: more than 5 redirects');
  expect(asked).toBe(0);
  inside.close();
  outside.close();
});

test('does not take /data-secret for /data, and does not follow a link out of it', async () => {
  const data = join(bench.directory, 'data');
  await mkdir(data);
  await mkdir(`${data}-secret`);
  await writeFile(join(data, 'a.txt'), 'readable');
  await writeFile(`${data}-secret/b.txt`, 'secret');
  await symlink(`${data}-secret/b.txt`, join(data, 'link.txt'));
  const source = entryOf({ read: 'return Reflect.get(globalThis, "readFile")(input.path)' }, `parameters: { type: 'object' },`);
  const plugin = await loadPandoraFrom(bench, 'reading', { 'index.ts': source }, permitting({ fs: [data] }));
  expect(await run(plugin, 'read', { path: join(data, 'a.txt') })).toBe('readable');
  for (const path of [`${data}-secret/b.txt`, join(data, 'link.txt'), `${data}/../data-secret/b.txt`]) {
    expect(await problemOf(run(plugin, 'read', { path }))).toBe(`${path}: is not readable for this plugin; it may read ${data}`);
  }
});

test('does not stop the worker for a tool that loops or takes all memory, nor other plugins: its process is ended and its next call answered', async () => {
  const leak = 'const all: unknown[] = []; for (;;) all.push({ all: [1, 2, 3, all.length] });';
  const source = { 'index.ts': entryOf({ loop: 'for (;;);', leak, ping: 'return "pong"' }) };
  const [bad, good] = [await loadPandoraFrom(bench, 'looping', source), await loadPandoraFrom(bench, 'calm', source)];
  const looping = problemOf(run(bad, 'loop'));
  for (let n = 0; n < 20; n += 1) expect(await run(good, 'ping')).toBe('pong');
  expect(await looping).toBe('looping:loop failed: its process was ended: it did not answer for 1000 ms');
  expect(await run(bad, 'ping')).toBe('pong');
  expect(await problemOf(run(bad, 'leak'))).toMatch(/^looping:leak failed: its process was ended: it (ran out of memory|did not answer for 1000 ms)$/);
  expect(await run(bad, 'ping')).toBe('pong');
});
