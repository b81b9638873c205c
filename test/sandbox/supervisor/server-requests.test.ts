import { readFileSync, rmSync } from 'node:fs';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { ExecEnd } from '../../../src/sandbox/protocol/supervisor-connection.ts';
import { descendants, LocalSupervisor, until } from './local-supervisor.ts';

const PROGRAM = readFileSync(new URL('../../fixtures/mcp/guest-server.cjs', import.meta.url));
const COUNT = { id: '1', method: 'tools/call', params: { name: 'count', arguments: {} } };

let supervisor: LocalSupervisor;
let requests = 0;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
  await supervisor.handle.writeFile('guest-server.cjs', PROGRAM);
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
  removeCodeDirectory();
});
const codeDirectory = () => `/tmp/.longshore-code-${supervisor.guest}`;
/** An interpreter that is being started or ended may put a file there meanwhile. */
const removeCodeDirectory = () => rmSync(codeDirectory(), { recursive: true, force: true, maxRetries: 50, retryDelay: 20 });
const server = { name: 'one', command: 'node', args: ['guest-server.cjs'], env: {} };
const call = (name: string, input: Record<string, string>, execId: string) =>
  supervisor.handle.callServer(server, { method: 'tools/call', params: { name, arguments: input } }, { execId });
const log = async () => supervisor.handle.readFile('log', { encoding: 'utf-8' }).catch(() => '');

/** A request with what the worker sends as it is, piece by piece. */
async function request(name: string, pieces: string[], env: Record<string, string> = {}): Promise<{ end: ExecEnd; told: string }> {
  const execId = `request-${(requests += 1)}`;
  const { connection } = supervisor;
  let told = '';
  const run = { program: 'mcp-call' as const, argv: [name, 'tools/call'] };
  const spec = { execId, run, cwd: '.', env, timeoutMs: 20_000, maxOutputBytes: 1_000_000, stdin: 'open' as const };
  const ended = connection.run(spec, { previewBytes: 1000, onStdout: (chunk) => void (told += String(chunk)) });
  for (const piece of pieces) await connection.input(execId, Buffer.from(piece), { end: false });
  await connection.input(execId, Buffer.alloc(0), { end: true });
  return { end: await ended, told };
}

/** '' for a process that has ended. */
function factOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

test('a request has no process, and the supervisor is root again after it has looked for the server as the guest', async () => {
  const mine = Number(supervisor.process.pid);
  const ids = () => factOf(mine, 'status').match(/^(Uid|Gid|Groups|CapEff):.*$/gm);
  const before = ids();
  const asked = call('append', { line: 'a', until: 'go-on' }, 'call_a-1');
  await until(async () => (await log()) === 'begin a\n');
  const ofGuest = descendants(mine).filter((pid) => factOf(pid, 'status').includes(`\nUid:\t${supervisor.guest}\t`));
  const programs = ofGuest.map((pid) => /\/?(guest-server\.cjs|mcp_server\.py)\0/.exec(factOf(pid, 'cmdline'))?.[1]);
  expect(new Set(programs)).toEqual(new Set(['guest-server.cjs', 'mcp_server.py']));
  expect(ofGuest).toHaveLength(2);
  expect(ids()).toEqual(before);
  const { stdout, stderr } = await supervisor.handle.run(`cd /proc/${mine}; cat mem; cat environ; cat maps; ls fd/; readlink exe; kill -0 ${mine}`);
  expect(stdout.text).toBe('');
  expect(stderr.text.match(/Permission denied|not permitted/g)).toHaveLength(5);
  await supervisor.handle.writeFile('go-on', '');
  expect(await asked).toMatchObject({ outcome: 'answered' });
});

test('when the guest ends the program that runs its server, the caller is told so, and the next one starts it again', async () => {
  const before = await log();
  const dying = { ...server, name: 'dying' };
  const append = { method: 'tools/call', params: { name: 'append', arguments: { line: 'b', until: 'never' } } };
  const asked = supervisor.handle.callServer(dying, append, { execId: 'call_b-1' });
  await until(async () => (await log()) === `${before}begin b\n`);
  await supervisor.handle.run(`kill -9 $(pgrep -U ${supervisor.guest} -f 'mcp_server.py dying')`);
  expect(await asked).toEqual({ outcome: 'gone', why: 'the program that runs it was ended' });
  const restarts: string[] = [];
  const again = await supervisor.handle.callServer(dying, { method: 'tools/list', params: {} }, { onRestart: async (why) => void restarts.push(why) });
  expect([again.outcome, restarts]).toEqual(['answered', ['it had ended']]);
});

test('a request that is ended is cancelled at its server, which is up for the next', async () => {
  const before = await log();
  const asked = call('append', { line: 'c', until: 'never' }, 'call_b-2');
  await until(async () => (await log()) === `${before}begin c\n`);
  expect(await supervisor.connection.signal('call_b-2', 'SIGSTOP')).toBe(true);
  expect(await supervisor.connection.signal('call_b-2', 'SIGTERM')).toBe(true);
  expect(await asked).toEqual({ outcome: 'killed' });
  expect(await supervisor.connection.signal('call_b-2', 'SIGTERM')).toBe(false);
  await until(async () => (await log()) === `${before}begin c\ncancelled\n`);
  expect(await call('count', {}, 'call_b-3')).toMatchObject({ outcome: 'answered' });
});

test('a request waits for a server that is about to listen, up to its time limit', async () => {
  const execId = 'call_l-1';
  const run = { program: 'mcp-call' as const, argv: ['late'] };
  const spec = { execId, run, cwd: '.', env: {}, timeoutMs: 20_000, maxOutputBytes: 10_000_000, stdin: 'open' as const };
  let told = '';
  const ended = supervisor.connection.run(spec, { previewBytes: 0, onStdout: (chunk) => void (told += String(chunk)) });
  // More than a socket holds.
  const words = 'x'.repeat(3_000_000);
  const given = supervisor.connection.input(execId, Buffer.from(`${JSON.stringify({ ...COUNT, params: { name: 'count', arguments: { words } } })}\n`), {
    end: true,
  });
  await supervisor.connection.start({
    ...spec,
    execId: 'late',
    run: { program: 'mcp', argv: ['late', 'node', 'guest-server.cjs'] },
    timeoutMs: 0,
    stdin: 'empty',
  });
  await given;
  expect((await ended).exit).toMatchObject({ status: 'exited', exitCode: 0 });
  expect(told).toContain('{"type": "answer"');
  const never = await supervisor.connection.run({ ...spec, execId: 'call_l-2', run: { ...run, argv: ['never'] }, timeoutMs: 200 }, { previewBytes: 1000 });
  expect([never.exit.status, never.exit.stdoutBytes]).toEqual(['timeout', 0]);
});

test('a request names its server', async () => {
  const spec = { execId: 'nameless', run: { program: 'mcp-call' as const }, cwd: '.', env: {}, timeoutMs: 0, maxOutputBytes: 0, stdin: 'open' as const };
  await expect(supervisor.connection.run(spec, { previewBytes: 0 })).rejects.toThrow('a request to a server needs its name');
});

test('the first complete line is the request, whatever workers have sent before it in part, and in how many pieces it comes', async () => {
  await call('count', {}, 'call_c-1');
  const whole = JSON.stringify(COUNT);
  const { end, told } = await request('one', [`\n${whole.slice(0, -1)}`, '\n[]\n', whole.slice(0, 20), `${whole.slice(20)}\n`, `${whole}\n`]);
  expect(end.exit).toMatchObject({ status: 'exited', exitCode: 0 });
  expect(told.split('\n').map((line) => line.slice(0, 17))).toEqual(['{"type": "answer"', '']);
  const none = await request('one', [`\n${whole.slice(0, -1)}`]);
  expect([none.end.exit.exitCode, none.told]).toEqual([0, '']);
});

const OVER = '\n{"type": "gone", "why": "the program that runs it was ended"}\n';

test.each([
  ['no JSON', `b'nothing\\n'`, `nothing\n${OVER}`],
  ['too deep', `b'[' * 50000 + b'\\n'`, `${'['.repeat(50_000)}\n${OVER}`],
  ['no text', `b'\\xff'`, `�${OVER}`],
  ['its last byte', `b'nothing\\0'`, 'nothing'],
])('what a program of the guest answers in the place of a server is passed on and not read: %s', async (_what, said, told) => {
  const listen = `import os, socket
os.makedirs('code', 0o700, exist_ok=True)
s = socket.socket(socket.AF_UNIX)
s.bind('code/mcp-forged.sock')
s.listen(1)
c = s.accept()[0]
c.recv(65536)
c.sendall(${said})
os.unlink('code/mcp-forged.sock')`;
  const { execId } = await supervisor.handle.start(`exec python3 -c "${listen}"`);
  const answered = await request('forged', [`${JSON.stringify(COUNT)}\n`], { LONGSHORE_CODE: 'code' });
  expect(answered.end.exit).toMatchObject({ status: 'exited', exitCode: 0 });
  expect(answered.told).toBe(told);
  expect(await supervisor.handle.attach(execId)).toMatchObject({ exitCode: 0 });
});

test('the end of the program that runs a server is told when its process has ended, so that the next caller finds none that counts as running', async () => {
  const leaving = `import os, socket, time
os.makedirs('code', 0o700, exist_ok=True)
s = socket.socket(socket.AF_UNIX)
s.bind('code/mcp-leaving.sock')
s.listen(1)
c = s.accept()[0]
c.recv(65536)
c.close()
time.sleep(0.2)
open('left', 'w').close()`;
  await supervisor.handle.start(`exec python3 -c "${leaving}"`);
  const { told } = await request('leaving', [`${JSON.stringify(COUNT)}\n`], { LONGSHORE_CODE: 'code' });
  expect(told).toBe(OVER.trimStart());
  expect(await supervisor.handle.readFile('left', { encoding: 'utf-8' })).toBe('');
});

test('a name of the guest does not lead the supervisor to what only root may reach', async () => {
  await supervisor.handle.run(`mkdir -m 700 -p code && ln -s ${supervisor.socket} code/mcp-own.sock`);
  const { end, told } = await request('own', [`${JSON.stringify(COUNT)}\n`], { LONGSHORE_CODE: 'code' });
  expect([end.exit.exitCode, end.stderr.head, told]).toEqual([1, 'PermissionError: [Errno 13] Permission denied\n', '']);
});

test('a directory of sockets that others may enter is not used', async () => {
  await supervisor.handle.run('mkdir open && chmod 755 open');
  const { end, told } = await request('one', [`${JSON.stringify(COUNT)}\n`], { LONGSHORE_CODE: 'open' });
  expect([end.exit.exitCode, end.stderr.head, told]).toEqual([1, 'open is not a directory of this user alone; remove it\n', '']);
});

test('a question of the server is numbered and answered as calls of code are, and its call has no time limit meanwhile', async () => {
  const asked: MethodCall[] = [];
  const given = { execId: 'call_q-1', timeoutMs: 1_500, onMethodCall: (each: MethodCall) => void asked.push(each) };
  const answer = supervisor.handle.callServer(server, { method: 'tools/call', params: { name: 'ask', arguments: {} } }, given);
  await until(async () => asked.length > 0);
  const params = { message: 'Who are you?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } };
  expect(asked).toEqual([{ execId: 'call_q-1', number: 1, tool: 'elicitation/create', arguments: params, repeated: false }]);
  await supervisor.handle.holdMethod('call_q-1', 1);
  const held = Date.now();
  await until(async () => Date.now() - held > 2_000);
  await supervisor.handle.answerMethod('call_q-1', 1, { ok: { action: 'accept', content: { name: 'Ada' } } });
  expect(await answer).toMatchObject({
    outcome: 'answered',
    result: { content: [{ text: '{"action":"accept","content":{"name":"Ada"}}' }] },
  });
});

test('a question is refused where the worker asks nobody', async () => {
  expect(await call('ask', {}, 'call_q-2')).toMatchObject({
    outcome: 'answered',
    result: { content: [{ text: '{"code":-32600,"message":"no call is in progress in which it could be asked"}' }] },
  });
});

test('a question that the worker refuses is an error for the server', async () => {
  const refuse = ({ execId, number }: MethodCall) => void supervisor.handle.answerMethod(execId, number, { error: { code: 'MALFORMED', message: 'no form' } });
  const request = { method: 'tools/call', params: { name: 'ask', arguments: {} } };
  expect(await supervisor.handle.callServer(server, request, { execId: 'call_q-3', onMethodCall: refuse })).toMatchObject({
    outcome: 'answered',
    result: { content: [{ text: '{"code":-32602,"message":"no form"}' }] },
  });
});

test('a server that may ask the model is told so, and gets what the worker answers; its own environment does not show it', async () => {
  const asked: MethodCall[] = [];
  const answers = [{ ok: { role: 'assistant' } }, { error: { code: 'REFUSED', message: 'no' } }, { error: { code: 'TOOL_FAILED', message: 'no budget' } }];
  const onMethodCall = (each: MethodCall) => {
    asked.push(each);
    void supervisor.handle.answerMethod(each.execId, each.number, answers.shift() ?? { ok: null });
  };
  const thinking = { ...server, name: 'thinking', maySample: true as const };
  const think = (execId: string) => supervisor.handle.callServer(thinking, { method: 'tools/call', params: { name: 'think' } }, { execId, onMethodCall });
  const texts: unknown[] = [];
  for (const execId of ['call_m-1', 'call_m-2', 'call_m-3']) texts.push(await think(execId));
  expect(asked[0]).toEqual({
    execId: 'call_m-1',
    number: 1,
    tool: 'sampling/createMessage',
    arguments: { messages: [{ role: 'user', content: { type: 'text', text: 'How high is the tide?' } }], maxTokens: 50 },
    repeated: false,
  });
  const told = ['{"role":"assistant"}', '{"code":-1,"message":"no"}', '{"code":-32603,"message":"no budget"}'];
  expect(texts).toMatchObject(told.map((text) => ({ outcome: 'answered', result: { content: [{ text }] } })));
  const environment = await supervisor.handle.callServer(thinking, { method: 'tools/call', params: { name: 'environment' } });
  expect(environment).toMatchObject({ result: { content: [{ text: '' }] } });
});

test('a server that may not ask the model is told that this is not offered', async () => {
  expect(await call('think', {}, 'call_m-4')).toMatchObject({
    result: { content: [{ text: '{"code":-32601,"message":"sampling/createMessage is not offered"}' }] },
  });
});

test('what the server says about itself comes with the list of its tools alone', async () => {
  const answer = (method: string, params: JsonObject) => supervisor.handle.callServer(server, { method, params });
  expect(await answer('tools/list', {})).toMatchObject({ server: { name: 'guest', version: '2.0.0', offers: ['tools'], instructions: 'Count.' } });
  expect(await answer('tools/call', COUNT.params)).toMatchObject({ outcome: 'answered', server: { name: 'guest', version: '2.0.0' } });
  expect(await answer('tools/call', COUNT.params)).not.toHaveProperty('server.instructions');
});

test('a server that tells of changed resources says so, and each change is a reason for the worker to look', async () => {
  const lively = { ...server, name: 'lively', env: { LIVELY: 'yes' } };
  const ask = (method: string, params: JsonObject) => supervisor.handle.callServer(lively, { method, params });
  expect(await ask('tools/list', {})).toMatchObject({ server: { offers: ['tools', 'resources', 'tasks', 'subscriptions'] } });
  expect(await supervisor.handle.serverMark('lively')).toBe('');
  await ask('resources/subscribe', { uri: 'tide://north' });
  await until(async () => (await supervisor.handle.serverMark('lively')) !== '');
});

test('a request that waits for the result of a task cancels the task when it is ended', async () => {
  const before = await log();
  const execId = 'call_t-1';
  const waiting = supervisor.handle.callServer(server, { method: 'tasks/result', params: { taskId: 'task-1' } }, { execId });
  await until(async () => (await log()) === `${before}waits\n`);
  await supervisor.handle.kill(execId);
  expect(await waiting).toEqual({ outcome: 'killed' });
  await until(async () => (await log()) === `${before}waits\ncancelled\ncancels task-1\n`);
});

test('the home of the sandbox is the root of the server, and what it logs is read with its stderr', async () => {
  expect(await call('roots', {}, 'call_r-1')).toMatchObject({
    result: { content: [{ text: expect.stringMatching(/^\{"roots":\[\{"uri":"file:\/\/\/[^"]+","name":"home of the sandbox"\}\]\}$/) }] },
  });
  let said = '';
  const over = new AbortController();
  const following = supervisor.connection.attach('mcp-one', { previewBytes: 0, onStderr: (chunk) => void (said += String(chunk)), signal: over.signal });
  following.catch(() => undefined);
  await until(async () => said.includes('[info] looking\n'));
  over.abort();
});
