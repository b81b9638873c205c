import { execFileSync } from 'node:child_process';
import { takenBy } from '../../../../src/plugins/dialects/nekro/methods/taken-names.ts';
import { createToolBench, type ToolBench } from '../../builtin/sandbox-context.ts';

let bench: ToolBench;
beforeAll(async () => {
  bench = await createToolBench();
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
});

const USABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const freeOf = (names: string) => [...new Set(names.trim().split(/\s+/))].filter((name) => USABLE.test(name) && takenBy(name) === undefined);

/** All names that code finds without defining them, on the way to what every object has. */
const IN_JAVASCRIPT = `const found = new Set(); for (let at = globalThis; at && at !== null; at = Object.getPrototypeOf(at)) for (const name of Object.getOwnPropertyNames(at)) found.add(name);
console.log('<', ...[...found, ...(typeof require === 'function' ? ['require'] : []), ...(typeof module === 'object' ? ['module', 'exports'] : [])], '>');`;
const IN_PYTHON = `import builtins\nprint('<', *dir(builtins), *[name for name in globals() if name != 'builtins'], '>')`;

test.each([
  ['python', IN_PYTHON, 150],
  ['javascript', IN_JAVASCRIPT, 60],
] as const)('every name that a program in %s finds is one that no method may have', async (language, code, least) => {
  for (const more of [{}, { context: 'kept' }]) {
    const found = JSON.stringify(await bench.call('code:run', { language, code, ...more }));
    const names = /<(.*)>/.exec(found)?.[1] ?? '';
    expect(names.trim().split(' ').length).toBeGreaterThan(least);
    expect(freeOf(names)).toEqual([]);
  }
});

test('so are those of the Node that runs this, and names that a plugin may well have are free', () => {
  expect(freeOf(execFileSync(process.execPath, ['-'], { input: IN_JAVASCRIPT, encoding: 'utf8' }))).toEqual([]);
  const free = ['search', 'add', 'sum_up', 'send_mail', 'status', 'name', 'draw', 'note', 'get_weather', '_private', 'Print', 'log'];
  expect(free.map(takenBy)).toEqual(free.map(() => undefined));
});
