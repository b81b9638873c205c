import { rmSync } from 'node:fs';
import { array, assert, asyncProperty, integer } from 'fast-check';
import type { CodeContext } from '../../../src/sandbox/api/code.ts';
import { LocalSupervisor } from './local-supervisor.ts';

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
