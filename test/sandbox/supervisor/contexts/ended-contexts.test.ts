import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROGRAMS = fileURLToPath(new URL('../../../../src/sandbox/supervisor/guest', import.meta.url));
const CALL = [join(PROGRAMS, 'interpreter_call.py'), 'one'];
/** Takes one request, says what it is told to, and hangs up a while before it ends. */
const KEEPER = `
import os, sys, time
sys.path.append(sys.argv[1])
import guest_socket
listener = guest_socket.listen(sys.argv[2])
client, _ = listener.accept()
client.recv(65536)
client.sendall(sys.argv[3].replace('PID', str(os.getpid())).encode())
client.close()
time.sleep(0.2)
open(os.path.join(os.environ['LONGSHORE_CODE'], 'ended'), 'w').close()
`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-context-'));
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

test.each([
  ['a context that has begun the code', '{"type": "turn", "pid": PID}\n{"type": "started"}\n'],
  ['a context that was ended before it had begun', ''],
])('the end of %s is told when its process has ended, so that the next caller finds none that counts as running', async (_what, said) => {
  const env = { ...process.env, LONGSHORE_CODE: directory };
  const keeper = spawn('python3', ['-c', KEEPER, PROGRAMS, 'one', said], { env, stdio: 'inherit' });
  const keeperEnd = once(keeper, 'exit');
  while (!(await exists(join(directory, 'one.sock')))) await sleep(10);
  const client = spawn('python3', CALL, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  client.stdin.end('{"id": "1", "code": ""}\n');
  let told = '';
  for await (const chunk of client.stdout.setEncoding('utf8')) {
    told += String(chunk);
    if (told.includes('"gone"')) expect(await exists(join(directory, 'ended'))).toBe(true);
  }
  expect(told).toContain('"gone"');
  await keeperEnd;
});

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
