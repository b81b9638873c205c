import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { array, assert, asyncProperty, integer } from 'fast-check';
import type { CodeContext } from '../../../../src/sandbox/api/code.ts';
import { descendants, isAlive, LocalSupervisor, until } from '../local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
  rmSync(`/tmp/.longshore-code-${supervisor.guest}`, { recursive: true, force: true });
});

/** Cannot be interrupted. */
const ENDLESS = {
  python: 'while True:\n  try:\n    print("begun")\n    while True: pass\n  except BaseException: pass',
  javascript: 'console.log("begun"); for (;;) {}',
} as const;
const UNTIL_THE_FILE_IS_THERE = {
  python: 'import os, time\nprint("begun")\nwhile not os.path.exists("go-python"): time.sleep(0.01)',
  javascript:
    'const { existsSync } = require("node:fs"); console.log("begun"); while (!existsSync("go-javascript")) await new Promise((again) => setTimeout(again, 10))',
} as const;
type Language = keyof typeof ENDLESS;

/** Both languages at the same time, because these tests wait for limits of time. */
async function inBoth(rule: (language: Language, context: CodeContext) => Promise<void>, contextId: string): Promise<void> {
  await Promise.all((['python', 'javascript'] as const).map((language) => rule(language, { language, contextId })));
}

test('whenever endless code is ended, before or after it has begun, its context takes the next piece', async () => {
  await inBoth(async (language, context) => {
    await assert(
      asyncProperty(array(integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 3 }), async (timesMs) => {
        const endless = timesMs.map((timeoutMs) => supervisor.handle.runCode(ENDLESS[language], { ...context, timeoutMs }));
        // One that waits for its turn in a context that is ended has gone with it.
        for (const { status } of await Promise.all(endless)) expect(['timeout', 'gone']).toContain(status);
        expect(await supervisor.handle.runCode('6 * 7', context)).toMatchObject({ status: 'finished', values: [{ 'text/plain': '42' }] });
      }),
      { numRuns: 5 },
    );
  }, 'ended');
}, 120_000);

test('code that has not begun when it is ended leaves its context as it is', async () => {
  await inBoth(async (language, context) => {
    await supervisor.handle.runCode('kept = 42', context);
    let before: Promise<unknown> | undefined;
    await new Promise<void>((resolve) => {
      before = supervisor.handle.runCode(UNTIL_THE_FILE_IS_THERE[language], { ...context, onOutput: () => resolve() });
    });
    const waiting = await supervisor.handle.runCode(ENDLESS[language], { ...context, timeoutMs: 1000 });
    expect(waiting).toMatchObject({ status: 'timeout' });
    expect(waiting).not.toHaveProperty('executionCount');
    await supervisor.handle.writeFile(`go-${language}`, '');
    expect(await before).toMatchObject({ status: 'finished' });
    expect(await supervisor.handle.runCode('kept', context)).toMatchObject({ values: [{ 'text/plain': '42' }] });
  }, 'waits');
});

test('a context whose code runs on after its client was killed is ended, and the piece after the next has a new one', async () => {
  await inBoth(async (language, context) => {
    const execId = `endless-${language}`;
    const onOutput = () => void supervisor.handle.kill(execId, 'SIGKILL');
    expect(await supervisor.handle.runCode(ENDLESS[language], { ...context, execId, onOutput })).toMatchObject({ status: 'gone' });
    expect(await supervisor.handle.runCode('1', context)).toMatchObject({ status: 'gone' });
    expect(await supervisor.handle.runCode('2', context)).toMatchObject({ status: 'finished', executionCount: 1 });
  }, 'killed');
});

/** Process id of a program of the guest, and of the process that the supervisor has put above it. */
function processesOf(words: RegExp): [program: number, runner: number] {
  const about = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
  const program = descendants(Number(supervisor.process.pid)).find((pid) => words.test(about(pid, 'cmdline')));
  if (program === undefined) throw new Error(`no program is ${String(words)}`);
  const line = about(program, 'stat');
  return [program, Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])];
}

test('a context whose end is seen late by a busy machine is not taken for one that runs by the piece after it', async () => {
  await inBoth(async (language, context) => {
    let pids: [number, number] = [0, 0];
    const onOutput = () => {
      if (pids[0] > 0) return;
      pids = processesOf(new RegExp(`interpreter\\.(py|cjs)\0${language}-late\0$`));
      process.kill(pids[1], 'SIGSTOP');
    };
    const endless = supervisor.handle.runCode(ENDLESS[language], { ...context, timeoutMs: 300, onOutput });
    const next = endless.then(() => supervisor.handle.runCode('6 * 7', context));
    await until(() => pids[0] > 0 && !isAlive(pids[0]));
    // Longer than on a machine that has nothing else to do.
    await delay(2000);
    process.kill(pids[1], 'SIGCONT');
    expect(await endless).toMatchObject({ status: 'timeout' });
    expect(await next).toMatchObject({ status: 'finished', values: [{ 'text/plain': '42' }] });
  }, 'late');
});

test('a program of a server whose end is seen late by a busy machine is not taken for one that runs by the next request', async () => {
  await supervisor.handle.writeFile('guest-server.cjs', readFileSync(new URL('../../../fixtures/mcp/guest-server.cjs', import.meta.url)));
  const late = { name: 'late', command: 'node', args: ['guest-server.cjs'], env: {} };
  const append = { method: 'tools/call', params: { name: 'append', arguments: { line: 'late', until: 'never' } } };
  const asked = supervisor.handle.callServer(late, append, { execId: 'call_late-1' });
  await until(async () => (await supervisor.handle.readFile('log', { encoding: 'utf-8' }).catch(() => '')) === 'begin late\n');
  const [keeper, runner] = processesOf(/mcp_server\.py\0late\0/);
  process.kill(runner, 'SIGSTOP');
  process.kill(keeper, 'SIGKILL');
  const next = asked.then(() => supervisor.handle.callServer(late, { method: 'tools/list', params: {} }));
  // Longer than on a machine that has nothing else to do.
  await delay(1500);
  process.kill(runner, 'SIGCONT');
  expect(await asked).toEqual({ outcome: 'gone', why: 'the program that runs it was ended' });
  expect(await next).toMatchObject({ outcome: 'answered' });
});
