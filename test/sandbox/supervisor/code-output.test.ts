import { LocalSupervisor } from './local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(() => supervisor[Symbol.asyncDispose]());

const python = (code: string, contextId?: string) =>
  supervisor.handle.runCode(code, { language: 'python', timeoutMs: 20_000, ...(contextId !== undefined && { contextId }) });
const javascript = (code: string) => supervisor.handle.runCode(code, { language: 'javascript', timeoutMs: 20_000 });

describe('Python', () => {
  test('what programs print keeps its characters, wherever it is cut on the way', async () => {
    const { status, stdout } = await python(`import subprocess, sys\n_ = subprocess.run([sys.executable, '-c', "print('€' * 40_000)"])`);
    expect({ status, same: stdout === `${'€'.repeat(40_000)}\n` }).toEqual({ status: 'finished', same: true });
  });

  test('half a character at the end is told, and does not begin what the next piece of code prints', async () => {
    expect((await python(`import os; _ = os.write(1, b'a\\xe2\\x82')`, 'half')).stdout).toBe('a\uFFFD');
    expect((await python(`_ = os.write(1, b'b')`, 'half')).stdout).toBe('b');
  });

  test('code ends although programs that it has started print without end', async () => {
    const loud = `import fcntl, struct, subprocess, termios\nleft = [subprocess.Popen(['yes']) for _ in range(4)]
while not struct.unpack('i', fcntl.ioctl(1, termios.FIONREAD, b'0000'))[0] > 60_000: pass`;
    expect(await python(loud)).toMatchObject({ status: 'finished' });
    expect(await python(loud, 'loud')).toMatchObject({ status: 'finished' });
    expect(await python(`for each in left: each.kill()`, 'loud')).toMatchObject({ status: 'finished' });
  });

  test('what is printed between two pieces of code goes nowhere, least of all to the next one', async () => {
    const loud = `import subprocess, threading\nleft = subprocess.Popen(['yes'])\nstop = threading.Event()
def shout():
    while not stop.is_set():
        print('shouted')
threading.Thread(target=shout).start()`;
    expect(await python(loud, 'between')).toMatchObject({ status: 'finished' });
    for (let count = 0; count < 10; count += 1)
      expect(await python(`open('/dev/null').fileno() > 0`, 'between')).toMatchObject({ status: 'finished', values: [{ 'text/plain': 'True' }] });
    expect(await python(`stop.set(); left.kill(); left.wait()`, 'between')).toMatchObject({ status: 'finished' });
  });
});

test('in JavaScript, what is written in pieces keeps its characters', async () => {
  const code = `for (const byte of Buffer.from('a€')) process.stdout.write(Buffer.of(byte)); process.stderr.write(Buffer.of(0xe2));`;
  expect(await javascript(code)).toMatchObject({ status: 'finished', stdout: 'a€', stderr: '\uFFFD' });
});

test('what bash prints is given while it runs with whole characters', async () => {
  let given = '';
  const onOutput = (_stream: string, text: string) => (given += text);
  const code = `python3 -c "print('€' * 40_000, end='')"; printf '\\xe2'`;
  expect(await supervisor.handle.runCode(code, { language: 'bash', onOutput })).toMatchObject({ status: 'finished' });
  expect(given === `${'€'.repeat(40_000)}\uFFFD`).toBe(true);
});
