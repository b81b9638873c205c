import type { CodeResult, RunCodeOptions } from '../../../src/sandbox/api/code.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

describe.each(BACKENDS)('code on %s', (_name, open) => {
  let backend: Backend;
  let handle: SandboxHandle;
  beforeAll(async () => {
    backend = await open();
    ({ handle } = backend);
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  const python = (code: string, options: Partial<RunCodeOptions> = {}): Promise<CodeResult> => handle.runCode(code, { language: 'python', ...options });

  test.each([
    ['python', 'print("out")\nimport sys\nprint("err", file=sys.stderr)\n6 * 7'],
    ['javascript', 'console.log("out"); console.error("err"); 6 * 7'],
    ['typescript', 'const six: number = 6; console.log("out"); console.error("err"); six * 7'],
  ] as const)('%s gives what was printed and the value of the last line', async (language, code) => {
    expect(await handle.runCode(code, { language })).toMatchObject({
      status: 'finished',
      stdout: 'out\n',
      stderr: 'err\n',
      values: [{ 'text/plain': '42' }],
      executionCount: 1,
    });
  });

  test('bash gives output and exit code', async () => {
    expect(await handle.runCode('echo out; exit 3', { language: 'bash' })).toMatchObject({
      status: 'failed',
      stdout: 'out\n',
      error: { message: 'exit code 3' },
    });
    await expect(handle.runCode('x', { language: 'bash', contextId: 'a' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('what is left out is counted, and where bash has written more, the path of it is given', async () => {
    const bash = await handle.runCode('seq 1 100000', { language: 'bash' });
    expect(bash).toMatchObject({ truncated: true, stdoutPath: expect.stringMatching(/stdout$/) as string });
    expect(bash).not.toHaveProperty('stderrPath');
    expect(bash.stdout).toMatch(/^1\n2\n[^]*\n… 523359 bytes left out; what was kept is in .*\/stdout …\n[^]*\n100000\n$/);
    expect(await handle.run(`wc -c < ${bash.stdoutPath}`)).toMatchObject({ stdout: { text: '588895\n' } });
    expect(await python('for n in range(130): display(n)')).toMatchObject({ truncated: true, leftOut: { values: 30, bytes: 0 } });
    const { leftOut } = await python('display("x" * 15_000_000, "y" * 15_000_000, "z" * 15_000_000)');
    expect(leftOut).toMatchObject({ values: 1, bytes: expect.any(Number) as number });
    expect(leftOut?.bytes).toBeGreaterThan(15_000_000);
  });

  test.each([
    ['python', 'def f():\n  return 1 / 0\nf()', 'ZeroDivisionError', /line 2, in f/],
    ['javascript', 'function f() { throw new TypeError("no") }\nf()', 'TypeError', /at f/],
    ['typescript', 'const x: number = ;', 'SyntaxError', /Unexpected/],
  ] as const)('an error of %s has type, message and traceback', async (language, code, type, traceback) => {
    expect(await handle.runCode(code, { language })).toMatchObject({ status: 'failed', error: { type, traceback: expect.stringMatching(traceback) } });
  });

  test.each([
    ['python', 'x = 1', 'x + 1'],
    ['javascript', 'const x = await Promise.resolve(1); let y = 2', 'x + 1'],
    ['typescript', 'import { basename } from "node:path"; const x: number = basename("/a/b").length', 'x + 1'],
  ] as const)('variables of %s live on in their context and nowhere else', async (language, first, second) => {
    const contextId = `live-${language}`;
    expect(await handle.runCode(first, { language, contextId })).toMatchObject({ status: 'finished', executionCount: 1 });
    expect(await handle.runCode(second, { language, contextId })).toMatchObject({ values: [{ 'text/plain': '2' }], executionCount: 2 });
    expect(await handle.runCode(second, { language, contextId: 'other' })).toMatchObject({ status: 'failed' });
  });

  test('values come in all the forms they have, and figures as images', async () => {
    await handle.writeFile('fake/matplotlib/__init__.py', '');
    await handle.writeFile(
      'fake/matplotlib/pyplot.py',
      'class F:\n  def savefig(self, f, **k): f.write(b"PNG")\nfigures = [1]\ndef get_fignums(): return figures\ndef figure(n): return F()\ndef close(n): figures.clear()',
    );
    const code = `
import matplotlib.pyplot
class V:
  def _repr_html_(self): return '<b>v</b>'
  def _repr_markdown_(self): return '**v**'
  def _repr_svg_(self): return '<svg/>'
  def _repr_png_(self): return b'png'
  def __repr__(self): return 'v'
display({'a': [1]})
V()`;
    const { values } = await python(code, { cwd: 'fake' });
    expect(values).toEqual([
      { 'application/json': { a: [1] }, 'text/plain': "{'a': [1]}" },
      { 'text/html': '<b>v</b>', 'text/markdown': '**v**', 'image/svg+xml': '<svg/>', 'image/png': 'cG5n', 'text/plain': 'v' },
      { 'image/png': 'UE5H' },
    ]);
  });

  test('what subprocesses print is there, too, and the order is kept', async () => {
    const { stdout } = await python('import subprocess\nprint("one")\nsubprocess.run(["echo", "two"])\nNone');
    expect(stdout).toContain('one\n');
    expect(stdout).toContain('two\n');
  });

  test('the same id twice runs once', async () => {
    const options = { execId: 'code-once', contextId: 'once' };
    const first = await python('n = globals().get("n", 0) + 1; n', options);
    expect(await python('n = globals().get("n", 0) + 1; n', options)).toMatchObject({ values: first.values, executionCount: 1 });
    expect(await python('n', { contextId: 'once' })).toMatchObject({ values: [{ 'text/plain': '1' }] });
  });

  test.each([
    ['python', 'x = 5', 'import time\nprint("begun")\nwhile True: time.sleep(0.01)', 'x'],
    ['javascript', 'var x = 5', 'console.log("begun"); await new Promise(() => {})', 'x'],
  ] as const)('code of %s that is interrupted leaves its variables', async (language, first, endless, last) => {
    const context = { language, contextId: `stop-${endless.length}` };
    await handle.runCode(first, context);
    let text = '';
    const running = handle.runCode(endless, { ...context, timeoutMs: 0, onOutput: (_stream, more) => (text += more) });
    await until(async () => text.includes('begun'), 'the code has begun');
    expect(await handle.interruptCode(context)).toBe(true);
    expect(await running).toMatchObject({ status: 'interrupted' });
    expect(await handle.runCode(last, context)).toMatchObject({ values: [{ 'text/plain': '5' }] });
  });

  test('code that takes too long is interrupted, and its context lives on', async () => {
    await python('x = 5', { contextId: 'slow' });
    expect(await python('while True: pass', { contextId: 'slow', timeoutMs: 500 })).toMatchObject({ status: 'timeout' });
    expect(await python('x', { contextId: 'slow' })).toMatchObject({ values: [{ 'text/plain': '5' }] });
  });

  test('languages have short names, values are told as they come, and contexts are listed', async () => {
    const values: unknown[] = [];
    const context = { language: 'js', contextId: 'short' } as const;
    const onResult = (value: unknown) => values.push(value);
    expect(await handle.runCode('const n: number = 6 * 7; n', { ...context, language: 'ts', onResult })).toMatchObject({ status: 'finished' });
    expect(values).toEqual([{ 'text/plain': '42' }]);
    const listed = await handle.codeContexts();
    expect(listed).toContainEqual({ language: 'javascript', contextId: 'short', startedAt: expect.any(String) as string });
    await handle.restartCode({ language: 'javascript', contextId: 'short' });
    expect((await handle.codeContexts()).some(({ contextId }) => contextId === 'short')).toBe(false);
  });

  test('JavaScript that never waits is ended with its context at its time limit', async () => {
    const context = { language: 'javascript', contextId: 'busy' } as const;
    await handle.runCode('var x = 5', context);
    // Long enough for the code to begin on a busy machine: what never began leaves the context as it is.
    expect(await handle.runCode('for (;;) {}', { ...context, timeoutMs: 2000 })).toMatchObject({ status: 'timeout' });
    expect(await handle.runCode('typeof x', context)).toMatchObject({ values: [{ 'text/plain': 'undefined' }], executionCount: 1 });
  });

  test('code that kills its process says so, and the next begins a new context', async () => {
    await python('x = 5', { contextId: 'dies' });
    expect(await python('import os; os._exit(1)', { contextId: 'dies' })).toMatchObject({ status: 'gone' });
    expect(await python('x', { contextId: 'dies' })).toMatchObject({ status: 'failed', executionCount: 1, error: { type: 'NameError' } });
  });

  test('a restart takes the variables, also of what runs', async () => {
    await python('x = 5', { contextId: 'again' });
    await handle.restartCode({ language: 'python', contextId: 'again' });
    expect(await python('x', { contextId: 'again' })).toMatchObject({ error: { type: 'NameError' }, executionCount: 1 });
    await handle.restartCode({ language: 'python', contextId: 'never' });
    expect(await handle.interruptCode({ language: 'python', contextId: 'never' })).toBe(false);
  });
});
