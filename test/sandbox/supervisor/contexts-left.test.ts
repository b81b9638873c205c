import { rmSync } from 'node:fs';
import fc from 'fast-check';
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
const THREE_SECONDS = {
  python: 'import time; print("begun"); time.sleep(3)',
  javascript: 'console.log("begun"); await new Promise((end) => setTimeout(end, 3000))',
} as const;
const LANGUAGES = Object.keys(ENDLESS) as (keyof typeof ENDLESS)[];

test.each(LANGUAGES)(
  'whenever endless code of %s is ended, before or after it has begun, its context takes the next piece',
  async (language) => {
    const context = { language, contextId: `ended-${language}` };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 3 }), async (timesMs) => {
        const endless = timesMs.map((timeoutMs) => supervisor.handle.runCode(ENDLESS[language], { ...context, timeoutMs }));
        for (const { status } of await Promise.all(endless)) expect(['timeout', 'gone']).toContain(status);
        // One that waited for its turn in a context that was ended is told that it has gone.
        expect(await supervisor.handle.runCode('6 * 7', context)).toMatchObject({ status: 'finished', values: [{ 'text/plain': '42' }] });
      }),
      { numRuns: 5 },
    );
  },
  120_000,
);

test.each(LANGUAGES)('code of %s that has not begun when it is ended leaves its context as it is', async (language) => {
  const context = { language, contextId: `waits-${language}` };
  await supervisor.handle.runCode('kept = 42', context);
  let before: Promise<unknown> | undefined;
  await new Promise<void>((resolve) => {
    before = supervisor.handle.runCode(THREE_SECONDS[language], { ...context, onOutput: () => resolve() });
  });
  const waiting = await supervisor.handle.runCode(ENDLESS[language], { ...context, timeoutMs: 1000 });
  expect(waiting).toMatchObject({ status: 'timeout' });
  expect(waiting).not.toHaveProperty('executionCount');
  expect(await before).toMatchObject({ status: 'finished' });
  expect(await supervisor.handle.runCode('kept', context)).toMatchObject({ values: [{ 'text/plain': '42' }] });
});

test.each(LANGUAGES)('a context of %s whose code runs on after its client was killed is ended, and the next piece has a new one', async (language) => {
  const context = { language, contextId: `killed-${language}` };
  const running = supervisor.handle.runCode(ENDLESS[language], {
    ...context,
    execId: `endless-${language}`,
    onOutput: () => void supervisor.handle.kill(`endless-${language}`, 'SIGKILL'),
  });
  expect(await running).toMatchObject({ status: 'gone' });
  expect(await supervisor.handle.runCode('1', context)).toMatchObject({ status: 'gone' });
  expect(await supervisor.handle.runCode('2', context)).toMatchObject({ status: 'finished', executionCount: 1 });
});
