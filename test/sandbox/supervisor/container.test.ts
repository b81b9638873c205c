import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Duplex, Transform } from 'node:stream';
import { promisify } from 'node:util';
import { connectSupervisor } from '../../../src/sandbox/protocol/connect-supervisor.ts';
import { createHandle } from '../../../src/sandbox/handle/create-handle.ts';
import type { SupervisorConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { silentLog, until } from './local-supervisor.ts';

const run = promisify(execFile);
const image = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
const name = `test-supervisor-${randomBytes(6).toString('hex')}`;
const labels = ['--label', `longshore.installation=${name}`];
const rights = ['--cap-drop', 'ALL', ...['SETUID', 'SETGID', 'KILL', 'CHOWN'].flatMap((right) => ['--cap-add', right]), '--security-opt', 'no-new-privileges'];
const limits = ['--memory', '512m', '--memory-swap', '512m', '--pids-limit', '256', '--network', 'none', '--read-only', '--init'];
/** Frames of the supervisor begin with a smaller byte. */
const FIRST_PRINTABLE = 0x20;
const places = ['--tmpfs', '/run:size=16m,mode=755', '--tmpfs', '/tmp:size=64m', '--volume', `${name}:/home`];
let connection: SupervisorConnection;
let handle: SandboxHandle;

beforeAll(async () => {
  await run('docker', ['volume', 'create', ...labels, name]);
  await run('docker', ['run', '-d', '--name', name, ...labels, ...rights, ...limits, ...places, image]);
  connection = connectSupervisor({ openStream: openBridge, sandboxId: 'sbx_container', log: silentLog });
  handle = createHandle(connection, 'sbx_container');
});

afterAll(async () => {
  connection.close();
  await run('docker', ['rm', '-f', name]);
  await run('docker', ['volume', 'rm', '-f', name]);
});

function openBridge(): Promise<Duplex> {
  const bridge = spawn('docker', ['exec', '-i', name, 'socat', '-', 'UNIX-CONNECT:/run/longshore/supervisor.sock,retry=100,interval=0.01'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let isFirst = true;
  // The engine says so on stdout where the container has just ended.
  const frames = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const isText = isFirst && chunk.readUInt8(0) >= FIRST_PRINTABLE;
      isFirst = false;
      done(isText ? new Error(chunk.toString()) : null, chunk);
    },
  });
  const stream = Duplex.from({ readable: bridge.stdout.pipe(frames), writable: bridge.stdin });
  stream.on('close', () => bridge.kill());
  return Promise.resolve(stream);
}

test('with four rights of root and no others it starts commands as the guest', async () => {
  const { stdout } = await handle.run('id -un; pwd; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; cat; readlink /proc/self/fd/0', { stdin: '' });
  expect(stdout.text).toMatch(/^user\n\/home\/user\nCapEff:\t0{16}\nCapBnd:\t[0-9a-f]+\nNoNewPrivs:\t1\npipe:/);
});

test('the shell of commands needs no linking at its start, and is otherwise the one that scripts name', async () => {
  const tell = 'echo "$0 $BASH $BASH_VERSION $LANG"; echo ä | wc -m; echo ~root';
  const { stdout } = await handle.run(`readlink /proc/$$/exe; ${tell}; /bin/bash -c '${tell}'`);
  const [program, ...told] = stdout.text.trim().split('\n');
  expect(program).toBe('/usr/bin/bash-static');
  expect(told.slice(0, 3)).toEqual([expect.stringMatching(/^\/bin\/bash \/bin\/bash 5\.\S+ C\.UTF-8$/), '2', '/root']);
  expect(told.slice(3)).toEqual(told.slice(0, 3));
});

test('code finds the module of the tools from every directory, and npm takes none but its own for the project', async () => {
  const { stdout } = await handle.run(
    'mkdir -p fresh/deep && cd fresh/deep && npm prefix && node -p "require.resolve(\'longshore\')" && touch ../package.json && npm prefix',
  );
  expect(stdout.text).toBe('/home/user/fresh/deep\n/opt/longshore/guest/library/longshore.cjs\n/home/user/fresh\n');
});

test('files belong to the guest, and those of root are out of reach', async () => {
  await handle.writeFile('notes/a.txt', 'mine');
  expect((await handle.run('stat -c %U notes notes/a.txt')).stdout.text).toBe('user\nuser\n');
  await expect(handle.readFile('/etc/shadow')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await expect(handle.writeFile('/home/.longshore/execs/x', '')).rejects.toMatchObject({ code: 'FILE_FAILED' });
});

test('a guest that takes all memory is ended, and the supervisor goes on', async () => {
  const result = await handle.run(`python3 -c 'x = bytearray(2 << 30)'; echo after $?`);
  expect(result.stdout.text + (result.signal ?? '')).toMatch(/after (137|1)|SIGKILL/);
  expect((await handle.run('echo alive')).stdout.text).toBe('alive\n');
});

test('the whole tree is ended in the container too', async () => {
  const result = await handle.run(`setsid sh -c 'trap "" TERM; while :; do sleep 0.1; done' & sleep 1000`, { timeoutMs: 300 });
  expect(result.status).toBe('timeout');
  // A pattern that does not match itself: the shell's own processes have it in their command line.
  expect((await handle.run('pgrep -u user -f "[t]rap" | wc -l')).stdout.text).toBe('0\n');
});

test('the journal outlives the container', async () => {
  await handle.run('echo kept', { execId: 'kept' });
  const lost = handle.run('sleep 1000', { execId: 'lost' });
  lost.catch(() => undefined);
  await until(async () => (await handle.execs()).some((exec) => exec.execId === 'lost'));
  await run('docker', ['kill', name]);
  await run('docker', ['start', name]);
  expect((await handle.attach('kept')).stdout.text).toBe('kept\n');
  await expect(lost).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
});
