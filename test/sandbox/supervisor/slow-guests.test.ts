import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LocalSupervisor, until } from './local-supervisor.ts';
import { echo, runJavascript, runPython, serveCalls } from './method-guests.ts';

let supervisor: LocalSupervisor;

beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
  removeCodeDirectory();
});
const codeDirectory = () => `/tmp/.longshore-code-${supervisor.guest}`;
/** An interpreter that is being started or ended may put a file there meanwhile. */
const removeCodeDirectory = () => rmSync(codeDirectory(), { recursive: true, force: true, maxRetries: 50, retryDelay: 20 });

/** Holds connections open, with a part of a call on each, from one process or from many; each makes a file when its own are there. */
const hog = (count: number, processes: number, mark: string) => `
import os, socket, time
for _ in range(${processes - 1}):
    if os.fork() == 0:
        break
held = []
for _ in range(${Math.ceil(count / processes)}):
    s = socket.socket(socket.AF_UNIX)
    s.connect(${JSON.stringify(join(supervisor.directory, 'tools', 'tools.sock'))})
    try:
        s.sendall(b"\\0\\0")
    except OSError:
        pass
    held.append(s)
open("${mark}%d" % os.getpid(), "w").close()
time.sleep(60)
`;

test.each([
  [1000, 1],
  [1000, 50],
])('a program calls tools while %i slow connections of %i processes are there', async (count, processes) => {
  const mark = `held-${processes}-`;
  const { execId } = await supervisor.handle.start(`exec python3 -c '${hog(count, processes, mark)}'`, { timeoutMs: 60_000 });
  await until(() => readdirSync(supervisor.home).filter((name) => name.startsWith(mark)).length === processes);
  const { onMethodCall } = serveCalls(supervisor, echo);
  const python = await runPython(supervisor, `print([lookup(str(n))['given']['city'] for n in range(5)])`, { onMethodCall });
  expect([python.stdout.text, python.stderr.text]).toEqual(["['0', '1', '2', '3', '4']\n", '']);
  const javascript = await runJavascript(supervisor, `console.log((await lookup({ city: 'Oslo' })).given.city)`, { onMethodCall });
  expect([javascript.stdout.text, javascript.stderr.text]).toEqual(['Oslo\n', '']);
  await supervisor.handle.kill(execId, 'SIGKILL');
});

test('a program whose idle connection was dropped for others opens another', async () => {
  const { onMethodCall } = serveCalls(supervisor, echo);
  const path = JSON.stringify(join(supervisor.directory, 'tools', 'tools.sock'));
  const crowd = `[socket.socket(socket.AF_UNIX) for _ in range(300)]`;
  const python = `
import os, socket
print(lookup('Rom')['given'])
if os.fork() == 0:
    crowd = ${crowd}
    for s in crowd: s.connect(${path})
    for s in crowd:
        try: s.sendall(b'x')
        except OSError: pass
    os._exit(0)
os.wait()
print(lookup('Bern')['given'])`;
  const result = await runPython(supervisor, python, { onMethodCall });
  expect([result.stdout.text, result.stderr.text]).toEqual(["{'city': 'Rom'}\n{'city': 'Bern'}\n", '']);
});

/** Leaves connections open on which nothing, half of something or garbage was sent, makes a file, and stays. */
const molest = (socket: string, mark: string) => `
import socket, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(${JSON.stringify(socket)})
    return s
held = []
for data in [b"", b"{", b"\\n", b"[1]\\n", b"[" * 100_000 + b"\\n", b"\\xff\\n", b"{}\\n", b"{\\"code\\":1}\\n", b"{\\"id\\":[],\\"method\\":{},\\"params\\":3}\\n", b"x" * 3_000_000] + [b"{"] * 500:
    s = connect()
    try:
        s.sendall(data)
    except OSError:
        pass
    held.append(s)
open("${mark}", "w").close()
time.sleep(60)
`;

test.each(['python', 'javascript'] as const)('slow connections and garbage do not shut a context of %s, nor end it', async (language) => {
  const context = { language, contextId: `of-${language}` };
  const run = (code: string) => supervisor.handle.runCode(code, context);
  await run('kept = 42');
  const mark = `molested-${language}`;
  const program = molest(join(codeDirectory(), `${language}-of-${language}.sock`), mark);
  const { execId } = await supervisor.handle.start(`exec python3 -c '${program}'`, { timeoutMs: 60_000 });
  await until(() => readdirSync(supervisor.home).includes(mark));
  const results = await Promise.all([run('kept'), run('kept + 1')]);
  expect(results.map(({ values: [first] }) => first?.['text/plain'])).toEqual(['42', '43']);
  await supervisor.handle.kill(execId, 'SIGKILL');
});

test('nor do they shut an MCP server', async () => {
  await supervisor.handle.writeFile('guest-server.cjs', readFileSync(new URL('../../fixtures/mcp/guest-server.cjs', import.meta.url)));
  const server = { name: 'one', command: 'node', args: ['guest-server.cjs'], env: {} };
  const count = () => supervisor.handle.callServer(server, { method: 'tools/call', params: { name: 'count', arguments: {} } });
  const counted = (text: string) => ({ outcome: 'answered', result: { content: [{ type: 'text', text }] } });
  expect(await count()).toMatchObject(counted('1'));
  const program = molest(join(codeDirectory(), 'mcp-one.sock'), 'molested-server');
  const { execId } = await supervisor.handle.start(`exec python3 -c '${program}'`, { timeoutMs: 60_000 });
  await until(() => readdirSync(supervisor.home).includes('molested-server'));
  expect([await count(), await count()]).toMatchObject([counted('2'), counted('3')]);
  await supervisor.handle.kill(execId, 'SIGKILL');
  await supervisor.handle.endServers([]);
});

test.each(['python', 'javascript'] as const)('a context of %s trusts no directory that others can write to', async (language) => {
  removeCodeDirectory();
  // An interpreter of an earlier test may just be making it.
  mkdirSync(codeDirectory(), { recursive: true });
  chmodSync(codeDirectory(), 0o777);
  const run = supervisor.handle.runCode('1', { language, contextId: 'elsewhere', timeoutMs: 10_000 });
  await expect(run).resolves.toMatchObject({ error: { traceback: expect.stringContaining('is not a directory of this user alone; remove it') } });
  removeCodeDirectory();
});
