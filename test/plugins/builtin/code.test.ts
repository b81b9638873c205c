import type { JsonObject } from '../../../src/contracts/json.ts';
import { createToolBench, type ToolBench } from './sandbox-context.ts';

let bench: ToolBench;
beforeAll(async () => {
  bench = await createToolBench();
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
});

async function run(language: string, code: string, more: JsonObject = {}): Promise<JsonObject> {
  return (await bench.call('code:run', { language, code, ...more })) as JsonObject;
}

test.each([
  ['python', "import sys\nprint('it\\'s', 6 * 7)\nsys.exit(2)", "it's 42\n", 2],
  [
    'javascript',
    "import { basename } from 'node:path';\nconst name = await Promise.resolve(basename('/a/it\\'s'));\nconsole.log(name);\nprocess.exit(2);",
    "it's\n",
    2,
  ],
  ['javascript', "const { basename } = require('node:path');\nconsole.log(basename('/a/b'));", 'b\n', 0],
  ['bash', 'x="it\'s"\necho "$x" $((6 * 7))\nexit 2', "it's 42\n", 2],
])('%s runs and gives its output and exit code', async (language, code, stdout, exitCode) => {
  await expect(run(language, code)).resolves.toMatchObject({ status: 'exited', exitCode, stdout, stderr: '' });
});

test('a program that fails says where', async () => {
  await expect(run('python', 'x = 1\nraise ValueError("broken")')).resolves.toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/line 2.*ValueError: broken/s),
  });
  await expect(run('javascript', 'throw new Error("broken")')).resolves.toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Error: broken') });
});

test('modules of the working directory can be imported', async () => {
  await bench.shell(
    'mkdir -p project/node_modules/thing && echo "value = 1" > project/mine.py && echo "exports.value = 1" > project/node_modules/thing/index.js',
  );
  await expect(run('python', 'import mine; print(mine.value)', { cwd: 'project' })).resolves.toMatchObject({ stdout: '1\n' });
  await expect(run('javascript', "import thing from 'thing'; console.log(thing.value)", { cwd: 'project' })).resolves.toMatchObject({ stdout: '1\n' });
});

test('a program is ended at its time limit, with what it had printed', async () => {
  await expect(run('python', 'import time\nprint("begun")\ntime.sleep(600)', { timeoutSeconds: 1 })).resolves.toMatchObject({
    status: 'timeout',
    stdout: 'begun\n',
  });
});

test('variables of a named context live on, and its values come as content', async () => {
  await bench.call('code:run', { language: 'python', code: 'x = 20', context: 'work' });
  const result = (await bench.call('code:run', { language: 'python', code: 'print("hi")\nx + 1', context: 'work' })) as { content: { text: string }[] };
  expect(JSON.parse(result.content[0]!.text)).toMatchObject({ status: 'finished', executionCount: 2, stdout: 'hi\n' });
  expect(result.content[1]).toEqual({ type: 'text', text: '21' });
});

test('images are images for the model', async () => {
  const code = 'class V:\n  def _repr_png_(self): return b"png"\nV()';
  const result = await bench.call('code:run', { language: 'python', code, context: 'work' });
  expect(result).toMatchObject({ content: [{ type: 'text' }, { type: 'image', mediaType: 'image/png', data: 'cG5n' }] });
});

test('TypeScript runs', async () => {
  const result = await bench.call('code:run', { language: 'typescript', code: 'const x: number = 6; x * 7' });
  expect(result).toMatchObject({ content: [{ type: 'text' }, { type: 'text', text: '42' }] });
});

test('nothing is left behind', async () => {
  await expect(bench.shell("ls -A /tmp | grep -v '^.longshore-code' || true")).resolves.toBe('');
});
