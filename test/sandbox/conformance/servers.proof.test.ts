import { readdir, readFile } from 'node:fs/promises';
import type { SandboxServer, ServerRequestOptions } from '../../../src/sandbox/api/host-methods.ts';
import type { MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

const PROGRAM = new URL('../../fixtures/mcp/guest-server.cjs', import.meta.url);
const PROGRAMS = new URL('../../../src/plugins/dialects/shared/python/programs/longshore_host/', import.meta.url);
/** A server that asks the worker in each request. */
const ASKING = `import asyncio
from longshore_host.questions import QuestionFailed, ask, take_channel
from longshore_host.stdio import Connection

async def answer(method, params):
    if method == 'initialize':
        return {'protocolVersion': params['protocolVersion'], 'capabilities': {}, 'serverInfo': {'name': 'asking', 'version': '1'}}
    take_channel(params)
    try:
        return {'told': await ask('tide', 'north')}
    except QuestionFailed as problem:
        return {'failed': str(problem)}

asyncio.run(Connection.take_stdio().serve(answer))
`;

const refuse = (handle: WorkerHandle, { execId, number }: MethodCall) =>
  handle.answerMethod(execId, number, { error: { code: 'TOOL_FAILED', message: 'not today' } });

function serverOf(name: string, more: Partial<SandboxServer> = {}): SandboxServer {
  return { name, command: 'node', args: ['../guest-server.cjs'], env: { SECRET: 'hunter2' }, directory: name, ...more };
}

describe.each(BACKENDS)('MCP servers in sandboxes of %s', (_name, open) => {
  let backend: Backend;
  let handle: WorkerHandle;
  beforeAll(async () => {
    backend = await open();
    ({ handle } = backend);
    await handle.writeFile('guest-server.cjs', await readFile(PROGRAM));
    for (const name of ['one', 'slow', 'dying', 'changed', 'growing', 'asking', 'asking/longshore_host']) await handle.createDirectory(name);
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  const call = (server: SandboxServer, name: string, input: Record<string, string> = {}, options: ServerRequestOptions = {}) =>
    handle.callServer(server, { method: 'tools/call', params: { name, arguments: input } }, options);
  const answered = (text: string) => ({ outcome: 'answered', result: { content: [{ type: 'text', text }] }, server: { name: 'guest', version: '2.0.0' } });
  const logOf = (name: string) => handle.readFile(`${name}/log`, { encoding: 'utf-8' }).catch(() => '');

  test('a server is started by the first request, and remembers what came before, with its environment and directory', async () => {
    const one = serverOf('one');
    const restarted: string[] = [];
    const onRestart = async (why: string) => void restarted.push(why);
    expect(await Promise.all([call(one, 'count', {}, { onRestart }), call(one, 'count', {}, { onRestart })])).toEqual(
      expect.arrayContaining([answered('1'), answered('2')]),
    );
    expect(await call(one, 'secret')).toEqual(answered(`hunter2 in ${(await handle.run('pwd', { cwd: 'one' })).stdout.text.trim()}`));
    expect(await handle.callServer(one, { method: 'tools/list', params: {} })).toMatchObject({ outcome: 'answered', result: { nextCursor: 'more' } });
    expect(await call(one, 'refuse')).toEqual({ outcome: 'refused', code: -32602, message: 'not today', server: { name: 'guest', version: '2.0.0' } });
    expect(restarted).toEqual([]);
  });

  test('the same request twice is one, also from another worker; a different one needs another id', async () => {
    const one = serverOf('one');
    const letGo = new AbortController();
    const onProgress = () => letGo.abort();
    const first = call(one, 'append', { line: 'a', until: 'go-on' }, { execId: 'call_a-1', signal: letGo.signal, onProgress });
    await expect(first).rejects.toMatchObject({ code: 'DETACHED' });
    const lines: string[] = [];
    const second = call(one, 'append', { line: 'a', until: 'go-on' }, { execId: 'call_a-1', onProgress: (line) => lines.push(line) });
    await handle.writeFile('one/go-on', '');
    expect(await second).toEqual(answered('wrote a'));
    expect(await call(one, 'append', { line: 'a', until: 'go-on' }, { execId: 'call_a-1' })).toEqual(answered('wrote a'));
    expect(lines).toEqual(['began a']);
    expect(await logOf('one')).toBe('begin a\nend a\n');
  });

  test('a server asks the worker about its request; another worker that takes the request over gets the question, too', async () => {
    const asking: SandboxServer = { name: 'asking', command: 'python3', args: ['-u', 'asking.py'], env: {}, directory: 'asking' };
    for (const module of (await readdir(PROGRAMS)).filter((file) => file.endsWith('.py'))) {
      await handle.writeFile(`asking/longshore_host/${module}`, await readFile(new URL(module, PROGRAMS)));
    }
    await handle.writeFile('asking/asking.py', ASKING);
    const ask = (options: ServerRequestOptions) => handle.callServer(asking, { method: 'tools/call', params: {} }, { hasChannel: true, ...options });
    const failed = 'this can be asked only during a call of a tool, or in a hook that is waited for';
    expect(await ask({})).toMatchObject({ result: { failed } });
    const letGo = new AbortController();
    const calls: MethodCall[] = [];
    const first = ask({
      execId: 'call_q-1',
      signal: letGo.signal,
      onMethodCall(call) {
        calls.push(call);
        letGo.abort();
      },
    });
    await expect(first).rejects.toMatchObject({ code: 'DETACHED' });
    const second = ask({
      execId: 'call_q-1',
      isBegun: true,
      onMethodCall(call) {
        calls.push(call);
        void handle.answerMethod(call.execId, call.number, { ok: { tide: 'high' } });
      },
    });
    expect(await second).toMatchObject({ outcome: 'answered', result: { told: { tide: 'high' } } });
    const question = { execId: 'call_q-1', number: 1, tool: 'longshore:context', arguments: { what: 'tide', args: ['north'] } };
    expect(calls).toEqual([
      { ...question, repeated: false },
      { ...question, repeated: true },
    ]);
    expect(await ask({ execId: 'call_q-2', onMethodCall: (call) => void refuse(handle, call) })).toMatchObject({ result: { failed: 'not today' } });
  });

  test('a request that runs out of time, or is killed, is cancelled at the server', async () => {
    const slow = serverOf('slow');
    // On a busy machine, its start may take longer than the request may.
    expect(await call(slow, 'count')).toEqual(answered('1'));
    expect(await call(slow, 'append', { line: 'a', until: 'never' }, { timeoutMs: 1_000 })).toEqual({ outcome: 'timeout' });
    const killed = call(slow, 'append', { line: 'b', until: 'never' }, { execId: 'call_b-1', onProgress: () => void handle.kill('call_b-1') });
    expect(await killed).toEqual({ outcome: 'killed' });
    await until(async () => (await logOf('slow')) === 'begin a\ncancelled\nbegin b\ncancelled\n', 'both were cancelled');
    expect(await call(slow, 'count')).toEqual(answered('2'));
  });

  test('a server that ends is told to those who wait for it, and is started anew by the next request, which is told', async () => {
    const dying = serverOf('dying');
    const waiting = call(dying, 'append', { line: 'a', until: 'never' }, { onProgress: () => void call(dying, 'die') });
    expect(await waiting).toEqual({ outcome: 'gone', why: 'it ended with exit code 3' });
    const restarted: string[] = [];
    expect(await call(dying, 'count', {}, { onRestart: async (why) => void restarted.push(why) })).toEqual(answered('1'));
    expect(restarted).toEqual(['it had ended (it ended with exit code 3)']);
  });

  test('a server whose definition has changed is started anew', async () => {
    expect(await call(serverOf('changed'), 'count')).toEqual(answered('1'));
    const restarted: string[] = [];
    const onRestart = async (why: string) => void restarted.push(why);
    expect(await call(serverOf('changed', { env: { SECRET: 'other' } }), 'count', {}, { onRestart })).toEqual(answered('1'));
    expect(restarted).toEqual(['its definition has changed']);
  });

  test('a request reaches the server that another worker has made of another definition, until one takes longer, after which the server is replaced', async () => {
    const other = (await backend.sandboxes.open({ sandboxId: backend.sandboxId, tenantId: 'tenant' }, {})).handle;
    const [ours, theirs] = [serverOf('replaced', { directory: 'one' }), serverOf('replaced', { directory: 'one', env: { SECRET: 'other' } })];
    const request = { method: 'tools/call', params: { name: 'count', arguments: {} } };
    const restarted: string[] = [];
    const onRestart = async (why: string) => void restarted.push(why);
    expect(await call(ours, 'count', {}, { onRestart })).toEqual(answered('1'));
    expect(await other.callServer(theirs, request)).toEqual(answered('1'));
    expect(await call(ours, 'count', {}, { onRestart })).toEqual(answered('2'));
    expect(await call(ours, 'append', { line: 'a', until: 'never' }, { timeoutMs: 200, onRestart })).toEqual({ outcome: 'timeout' });
    expect(restarted).toEqual([]);
    expect(await call(ours, 'count', {}, { onRestart })).toEqual(answered('1'));
    expect(restarted).toEqual(['its definition has changed']);
  });

  test('a request that was made before its server ended is only followed', async () => {
    const one = serverOf('followed', { directory: 'one' });
    await call(one, 'count');
    expect(await call(one, 'count', {}, { execId: 'call_f-1' })).toEqual(answered('2'));
    await handle.kill('mcp-followed', 'SIGKILL');
    await until(async () => (await handle.serverMark('followed')) === undefined, 'it is gone');
    const restarted: string[] = [];
    const onRestart = async (why: string) => void restarted.push(why);
    expect(await call(one, 'count', {}, { execId: 'call_f-1', onRestart })).toEqual(answered('2'));
    expect([restarted, await handle.serverMark('followed')]).toEqual([[], undefined]);
    expect(await call(one, 'count', {}, { onRestart })).toEqual(answered('1'));
    expect(restarted).toEqual(['it had ended']);
  });

  test('a server that says that its tools have changed has another mark from then on, as has one that was started again', async () => {
    const growing = serverOf('growing');
    const marks = [await handle.serverMark('growing')];
    const look = async () => void marks.push(await handle.serverMark('growing'));
    await call(growing, 'count');
    await look();
    expect(marks).toEqual([undefined, '']);
    await call(growing, 'grow', { line: 'more' });
    await until(async () => (await handle.serverMark('growing')) !== '', 'the change has left its mark');
    await look();
    await call(growing, 'count');
    await look();
    expect(marks[3]).toBe(marks[2]);
    await call(growing, 'die');
    await call(growing, 'count');
    await until(async () => (await handle.serverMark('growing')) !== marks[2], 'the new life has left its mark');
  });

  test('servers are ended with what they have started, and the next caller that starts them learns of it', async () => {
    const [kept, ended] = [serverOf('one'), serverOf('growing')];
    await Promise.all([call(kept, 'count'), call(ended, 'count')]);
    expect(await handle.endServers(['one', 'slow', 'dying', 'changed', 'asking', 'replaced', 'followed', 'unknown'])).toEqual(['growing']);
    await until(async () => (await handle.serverMark('growing')) === undefined, 'it is gone');
    expect(await handle.serverMark('one')).toBe('');
    const restarted: string[] = [];
    expect(await call(ended, 'count', {}, { onRestart: async (why) => void restarted.push(why) })).toEqual(answered('1'));
    expect(restarted).toEqual(['it had ended']);
    await handle.endServers([]);
    await until(async () => (await handle.serverMark('one')) === undefined, 'the other is gone, too');
  });

  test('a server that cannot be started is told with what it said', async () => {
    const broken = serverOf('broken', { args: ['-e', 'console.error("no licence"); process.exit(1)'], directory: '.' });
    expect(await call(broken, 'count')).toEqual({ outcome: 'absent', why: 'no licence' });
    const missing = serverOf('missing', { command: 'no-such-program', directory: '.' });
    expect(await call(missing, 'count')).toMatchObject({ outcome: 'absent', why: expect.stringContaining('no-such-program') as string });
    await expect(call(serverOf('Bad'), 'count')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a message without end, and a flood of notifications, end the server', async () => {
    const hostile = (name: string, work: string) => {
      const greet = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { const m = JSON.parse(line);
        if (m.method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'h', version: '1' } } }));
        if (m.method === 'tools/call') { ${work} } });`;
      return serverOf(name, { args: ['-e', greet], directory: '.' });
    };
    const endless = hostile('endless', `const chunk = 'x'.repeat(1 << 20); for (let n = 0; n < 12; n += 1) process.stdout.write(chunk);`);
    expect(await call(endless, 'go')).toEqual({ outcome: 'gone', why: 'it sent a message that is too large' });
    const flood = hostile('flood', `console.log('{"jsonrpc":"2.0","method":"notifications/message"}\\n'.repeat(5000));`);
    const nested = hostile('nested', `process.stdout.write('{"id":1,"result":' + '['.repeat(100000) + ']'.repeat(100000) + '}\\n')`);
    expect(await call(nested, 'go')).toEqual({ outcome: 'gone', why: 'it sent a message that is nested too deeply to be read' });
    expect(await call(flood, 'go')).toMatchObject({ outcome: 'gone', why: expect.stringContaining('more than 1000 notifications') as string });
  });
});
