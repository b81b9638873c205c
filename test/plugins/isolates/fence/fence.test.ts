import { mkdtemp, mkdir, rm, writeFile, chmod } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../../src/platform/log.ts';
import { createBreaker } from '../../../../src/plugins/isolates/breaker.ts';
import { probeFence, type Fence } from '../../../../src/plugins/isolates/fence/fence.ts';
import { speakWith } from '../../../../src/plugins/isolates/loaded-process.ts';
import { startPluginProcess, type PluginProcess } from '../../../../src/plugins/isolates/plugin-process.ts';
import { readFromGuest } from '../../../../src/plugins/isolates/guest-protocol.ts';
import { contextOf, problemOf } from '../support.ts';

/** What a plugin could do that had broken out of its compartment: programs run in place of ours, behind the same fence. */
let directory: string;
let fence: Fence;
const started: PluginProcess[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-fence-test-'));
  await chmod(directory, 0o755);
  await mkdir(join(directory, 'empty'));
  fence = await probeFence();
});
afterEach(async () => {
  for (const each of started.splice(0)) {
    each.kill('the test is over');
    await each.gone;
  }
});
afterAll(() => rm(directory, { recursive: true }));

const PRELUDE = `const write = (m) => process.stdout.write(JSON.stringify(m) + '\\n'); write({ type: 'ready' });
  const onMessage = (handle) => { let rest = ''; process.stdin.on('data', (c) => { const lines = (rest + c).split('\\n'); rest = lines.pop(); for (const l of lines) { const m = JSON.parse(l);
    if (m.type === 'ping') write({ type: 'pong', id: m.id }); else handle(m); } }); };\n`;
let scripts = 0;

async function start(source: string): Promise<PluginProcess> {
  scripts += 1;
  const path = join(directory, `hostile-${scripts}.cjs`);
  await writeFile(path, PRELUDE + source);
  const made = startPluginProcess(fence, { path, directory: join(directory, 'empty') });
  started.push(made);
  return made;
}

async function speak(source: string) {
  const made = await start(source);
  const log = { info: () => undefined, warn: () => undefined } as unknown as Logger;
  return { made, loaded: speakWith(made, { plugin: 'hostile', limits: { unresponsiveMs: 5_000, graceMs: 500 }, log }) };
}

const GRANTS = { time: false, random: false, network: false, files: false };

test('behind the fence there is no file, no network, no environment, no other process and no worker thread', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { loaded } = await speak(`
    const tries = {
      read: () => require('fs').readFileSync('/etc/passwd'), list: () => require('fs').readdirSync('/'), write: () => require('fs').writeFileSync('/tmp/longshore-escape', 'x'),
      spawn: () => require('child_process').execFileSync('/bin/true'), worker: () => new (require('worker_threads').Worker)('0', { eval: true }),
      kill: () => process.kill(process.ppid, 0), root: () => process.setuid(0), docker: () => require('fs').statSync('/var/run/docker.sock'),
      addon: () => process.dlopen({ exports: {} }, '/usr/lib/x.node'), environment: () => { const names = Object.keys(process.env).filter((n) => n !== 'TZ' && n !== 'LANG'); if (names.length === 0) throw 0; },
    };
    onMessage(async (m) => {
      const got = Object.keys(tries).filter((name) => { try { tries[name](); return true; } catch { return false; } });
      const connected = await new Promise((resolve) => require('net').connect(${port}, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false)));
      write({ type: 'done', id: m.id, value: { plugin: { got, connected, user: process.getuid(), cwd: require('path').basename(process.cwd()) }, hooks: [] } });
    });`);
  const { plugin } = (await loaded.load('', GRANTS)) as { plugin: Record<string, unknown> };
  server.close();
  const levels = { A: { got: [], connected: false }, B: { got: expect.anything() as unknown }, C: { got: expect.anything() as unknown } };
  expect(plugin).toMatchObject({ cwd: 'empty', ...levels[fence.level] });
  if (fence.level === 'A') expect(plugin['user']).toBeGreaterThanOrEqual(0x7000_0000);
  expect(plugin['got']).not.toEqual(expect.arrayContaining(['read']));
});

describe('messages of a process without a request get no answer', () => {
  const caller = { context: contextOf('conv-1'), permissions: {} };
  const request = { name: 'hostile:tool', target: { tool: 'tool' }, conversation: 'conv-1', grants: GRANTS, args: [], timeoutMs: 10_000, caller };
  /** Asks for all of it in the name of the first call and answers that with the refusals, in the order of the questions. */
  const asking = (asks: string) => `
    let call; const told = [];
    onMessage((m) => {
      if (m.type === 'call' && call === undefined) { call = m.id; for (const [index, ask] of (${asks})(m.id).entries()) write({ type: 'ask', id: index + 1, args: [], ...ask }); }
      else if (m.type === 'answer' || m.type === 'refuse') { told[m.id - 1] = m.message ?? 'answered'; if (told.filter(Boolean).length === (${asks})(0).length) write({ type: 'done', id: call, value: told }); }
    });`;

  test('a forged id', async () => {
    const { loaded } =
      await speak(`onMessage((m) => { write({ type: 'done', id: m.id + 1, value: 'forged' }); write({ type: 'failed', id: 99, message: 'forged' });
      write({ type: 'tell', call: 77, what: 'heartbeat', text: 'x' }); write({ type: 'done', id: m.id, value: 'real' }); });`);
    expect([await loaded.call(request), await loaded.call(request)]).toEqual(['real', 'real']);
    expect(caller.context.told).toEqual([]);
  });

  test('a replayed frame', async () => {
    const { loaded } =
      await speak(`const said = []; onMessage((m) => { said.push({ type: 'done', id: m.id, value: 'answer ' + m.id }); for (const message of said) write(message);
      for (const message of said) write({ ...message, value: 'again' }); });`);
    expect([await loaded.call(request), await loaded.call(request), await loaded.call(request)]).toEqual(['answer 1', 'answer 2', 'answer 3']);
  });

  test("another call's id, and that of a call which has ended", async () => {
    const { loaded } = await speak(asking(`(id) => [{ call: id + 1, what: 'store.get', args: ['k'] }, { call: 0, what: 'store.get', args: ['k'] }]`));
    expect(await loaded.call(request)).toEqual(Array(2).fill('store.get was used by a call that is not running'));
    const ended =
      await speak(`let first; onMessage((m) => { if (m.type === 'call' && first === undefined) { first = m.id; write({ type: 'done', id: m.id, value: 1 }); }
      else if (m.type === 'call') { second = m.id; write({ type: 'ask', id: 1, call: first, what: 'store.get', args: ['k'] }); } else write({ type: 'done', id: second, value: m.message ?? 'answered' }); }); let second;`);
    await ended.loaded.call(request);
    expect(await ended.loaded.call(request)).toBe('store.get was used by a call that is not running');
  });

  test('an undeclared capability, and __proto__ as its name', async () => {
    const { loaded } = await speak(asking(`(id) => ['exit', '__proto__', 'constructor'].map((what) => ({ call: id, what }))`));
    const unknown = (what: string) => `${what}: there is no such capability. See docs/guides/plugins.md`;
    expect(await loaded.call(request)).toEqual([unknown('exit'), unknown('__proto__'), unknown('constructor')]);
  });

  test('what was not granted, and arguments that do not fit', async () => {
    const { loaded } = await speak(
      asking(`(id) => [{ call: id, what: 'readFile', args: ['/etc/passwd'] }, { call: id, what: 'fetch', args: ['http://x/', { headers: [] }] },
        { call: id, what: 'store.get', args: [{ toString: 1 }] }, { call: id, what: 'sandbox.exec', args: ['ls', { timeoutMs: -1 }] }]`),
    );
    expect(await loaded.call(request)).toEqual([
      '/etc/passwd: is not readable for this plugin; it may read no files',
      'Request to "http://x/" refused: this tool has no permission for the network',
      // Under jest its prototype may be that of another realm, which zod then names.
      expect.stringMatching(/^Argument 1 of store\.get: Invalid input: expected string, received object\. See docs\/guides\/tools\.md$/i),
      expect.stringContaining('Argument 2 of sandbox.exec/timeoutMs: '),
    ]);
  });
});

test('questions of more than 64 MB at a time are refused: they would all lie in the memory of the worker', async () => {
  const { loaded } = await speak(`let call; const text = 'x'.repeat(14_000_000);
    const ask = (id) => id <= 5 && process.stdout.write(JSON.stringify({ type: 'ask', id, call, what: 'message', args: [text] }) + '\\n', () => ask(id + 1));
    onMessage((m) => { if (m.type === 'refuse') write({ type: 'done', id: call, value: [m.id, m.message] }); else { call = m.id; ask(1); } });`);
  const caller = { context: contextOf('conv-1', { message: () => new Promise(() => undefined) }), permissions: {} };
  const request = { name: 'hostile:tool', target: { tool: 'tool' }, conversation: 'conv-1', grants: GRANTS, args: [], timeoutMs: 10_000, caller };
  expect(await loaded.call(request)).toEqual([5, 'more than 67108864 characters of requests to the worker at a time']);
});

test.each([
  ['a line that is no message', `write({ type: 'order' })`, 'it sent something that is no message'],
  [
    'a line that is nested too deeply',
    `process.stdout.write('{"type":"done","id":1,"value":' + '['.repeat(600) + ']'.repeat(600) + '}\\n')`,
    'it sent something that is no message',
  ],
  [
    'a line of too many keys',
    `process.stdout.write('{"type":"done","id":1,"value":[' + '{},'.repeat(250000) + '1]}\\n')`,
    'it sent something that is no message',
  ],
  ['a line that is no JSON', `process.stdout.write('{"type":\\n')`, 'it sent something that is no message'],
  [
    'a giant frame',
    `const piece = 'x'.repeat(1 << 20); for (let i = 0; i < 20; i += 1) process.stdout.write(piece)`,
    'it sent a message of more than 16777216 bytes',
  ],
  ['a flood', `for (let i = 0; i < 100_000; i += 1) write({ type: 'tell', call: 0, what: 'info', text: 'x' })`, 'it sent more than 1000 messages a second'],
  ['an end of its own', `setTimeout(() => process.exit(3), 1)`, 'it ended by itself with code 3'],
])('%s ends the process', async (_name, source, why) => {
  const { made } = await speak(`${source}; setInterval(() => 0, 1000);`);
  expect(await made.ended).toBe(why);
});

test('what is cut off counts as ended at once: nothing waits until its process is gone', async () => {
  const { loaded, made } = await speak('setInterval(() => 0, 1000);');
  const order: string[] = [];
  const request = { name: 'hostile:tool', target: { tool: 'tool' }, conversation: 'c', grants: GRANTS, args: [], timeoutMs: 10_000 };
  await made.ready;
  const all = [loaded.call(request).catch(() => order.push('its call failed')), made.gone.then(() => order.push('it is gone'))];
  made.kill('it is not liked');
  expect(made.alive()).toBe(false);
  await Promise.all(all);
  expect(order).toEqual(['its call failed', 'it is gone']);
});

test('a process that dies takes its calls with it and nothing else', async () => {
  const { loaded, made } = await speak(`onMessage((m) => m.type === 'call' && process.exit(1));`);
  const request = { name: 'hostile:tool', target: { tool: 'tool' }, conversation: 'c', grants: GRANTS, args: [], timeoutMs: 10_000 };
  expect(await problemOf(loaded.call(request))).toBe('hostile:tool failed: its process was ended: it ended by itself with code 1');
  expect(made.alive()).toBe(false);
});

test('only messages of the protocol are read, and __proto__ in them changes no prototype', () => {
  const bad = [
    '',
    '[]',
    '1',
    'null',
    '{}',
    '{"type":"toString"}',
    '{"type":"done","id":-1,"value":1}',
    '{"type":"done","id":1.5,"value":1}',
    '{"type":"done","id":1}',
  ];
  const worse = [
    '{"type":"ask","id":1,"call":1,"what":7,"args":[]}',
    '{"type":"ask","id":1,"call":1,"what":"x","args":{}}',
    '{"type":"tell","call":1,"what":"exit","text":"x"}',
  ];
  expect([...bad, ...worse].map(readFromGuest)).toEqual([...bad, ...worse].map(() => undefined));
  for (const key of ['__proto__', '\\u005f_proto__', '__\\u0070roto__']) {
    const read = readFromGuest(`{"type":"done","id":1,"value":{"${key}":{"polluted":1},"a":1}}`) as { value: object };
    expect(Object.assign({}, read.value)).toEqual({ a: 1 });
    expect(Reflect.ownKeys(read.value)).toEqual(['a']);
  }
});

test('the breaker opens after five failures within a minute, lets one try after half a minute, and closes with its success', () => {
  let now = 0;
  const breaker = createBreaker(() => now);
  const fail = (times: number) => Array.from({ length: times }, () => breaker.failed());
  fail(4);
  now = 70_000;
  fail(4);
  expect(breaker.waits()).toBeUndefined();
  fail(1);
  expect(breaker.waits()).toBe(30_000);
  now += 30_000;
  expect(breaker.waits()).toBeUndefined();
  fail(1);
  expect(breaker.waits()).toBe(30_000);
  now += 30_000;
  expect(breaker.waits()).toBeUndefined();
  breaker.succeeded();
  fail(4);
  expect(breaker.waits()).toBeUndefined();
});
