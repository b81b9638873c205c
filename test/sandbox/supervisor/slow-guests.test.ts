import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LocalSupervisor, until } from './local-supervisor.ts';
import { echo, runJavascript, runPython, serveCalls } from './method-guests.ts';

let supervisor: LocalSupervisor;

beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(() => supervisor[Symbol.asyncDispose]());

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
