import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAMS = fileURLToPath(new URL('../../../../src/sandbox/supervisor/guest', import.meta.url));

let directory: string;
let context: ChildProcess | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-context-'));
});
afterEach(async () => {
  if (context?.exitCode === null && context.kill('SIGKILL')) await once(context, 'exit');
  await rm(directory, { recursive: true, force: true });
});

/** A client of a context that does each of its steps when the test says so. */
class Client {
  readonly told: { type: string; error?: object }[] = [];
  readonly #socket: Socket;

  constructor(code: string) {
    let pending = '';
    this.#socket = connect({ path: join(directory, 'one.sock'), allowHalfOpen: true });
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        const said = JSON.parse(line) as { type: string };
        this.told.push(said);
        if (said.type === 'turn') this.#socket.write('\n');
      }
    });
    this.#socket.write(`${JSON.stringify({ code, client: '1 1' })}\n`);
  }
  has(type: string): boolean {
    return this.told.some((said) => said.type === type);
  }
  hangUp(): void {
    this.#socket.destroy();
  }
}

/** Gives up: a context that never goes on must not hold up the tests. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`never: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Whether a process waits for something. */
const sleeps = (pid: number): boolean => / S /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/, ''));

const LANGUAGES: [string, string[], (go: string) => string][] = [
  ['Python', ['python3', join(PROGRAMS, 'interpreter.py')], (go) => `import os, time\nwhile not os.path.exists(${JSON.stringify(go)}): time.sleep(0.01)`],
  [
    'JavaScript',
    [process.execPath, join(PROGRAMS, 'interpreter.cjs')],
    (go) => `while (!require("fs").existsSync(${JSON.stringify(go)})) await new Promise((next) => setTimeout(next, 10));`,
  ],
];
const orders = [1, 2, 3].flatMap((signals) => (['before', 'after'] as const).map((comes) => [signals, comes] as const));

describe.each(LANGUAGES)('%s', (_, [program = '', ...rest], waitingFor) => {
  test.each(orders)(
    '%d interrupts of a client whose code has just ended do not reach the next piece, which came %s that end',
    async (signals, comes) => {
      const env = { ...process.env, LONGSHORE_CODE: directory };
      const started = (context = spawn(program, [...rest, 'one'], { env, stdio: 'inherit' }));
      const pid = started.pid ?? 0;
      await until(() => existsSync(join(directory, 'one.sock')));
      const [firstGoes, nextGoes] = ['first', 'next'].map((name) => join(directory, name)) as [string, string];
      const first = new Client(waitingFor(firstGoes));
      await until(() => first.has('started'));
      const early = comes === 'before' ? new Client(waitingFor(nextGoes)) : undefined;
      writeFileSync(firstGoes, '');
      await until(() => first.has('ended'));
      const next = early ?? new Client(waitingFor(nextGoes));
      await until(() => next.has('started') || (!next.has('turn') && sleeps(pid)));
      for (let sent = 0; sent < signals; sent += 1) process.kill(pid, 'SIGINT');
      first.hangUp();
      await until(() => next.has('started'));
      writeFileSync(nextGoes, '');
      await until(() => next.has('ended'));
      expect(next.told.find(({ type }) => type === 'ended')).not.toHaveProperty('error');
      next.hangUp();
    },
    60_000,
  );
});
