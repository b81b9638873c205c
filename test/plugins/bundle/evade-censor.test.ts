import { runInNewContext } from 'node:vm';
import { evadeCensor } from '../../../src/plugins/bundle/evade-censor.ts';
import { cpuMs } from '../../support/cpu-time.ts';

/** As SES looks for them. */
const CENSORED = [/(?:^|[^.]|\.\.\.)\bimport(?:\s*(?:\(|\/[/*]))/m, /<!--|-->/, /(?:^|[^.])\beval\s*\(/m];

test.each([
  `'import("x") and import /* x */ and eval(1) and <!-- a --> and <!--> ---->'`,
  '`import(${1 + 1}) <!-- ${"-->"} eval (`',
  `[/import\\(/.test('import('), /[<!--x]/.test('-'), /[<!--x]/.test('/'), /\\<!--/.exec('a<!--')[0], /[--\\>]/.test('>'), /[-->]/.test('5'), /(?:eval)\\(/u.source.length > 3]`,
  String.raw`['\<!--', '\\<!--', '\\\<!--', /\\<!--/.test('\\<!--'), '\import(', "\eval("]`,
  `((strings) => strings.join())\`<!-- \${1} --> import(\``,
  `['eval(', 'medieval(', 'x.eval(', '$eval(', 'important(', 'reimport(', { $eval: () => 7 }.$eval (1)]`,
])('what stands in strings, templates and regular expressions means the same: %s', async (expression) => {
  const evaded = await evadeCensor(`(${expression});`);
  const code = 'code' in evaded ? evaded.code : `refused: ${evaded.refused}`;
  expect(CENSORED.filter((pattern) => pattern.test(code))).toEqual([]);
  expect(JSON.stringify(runInNewContext(code))).toBe(JSON.stringify(runInNewContext(`(${expression});`)));
});

test.each([
  ['import("x")', 'import('],
  ['f("import(") + import(y)', 'import('],
  ['import /* x */ ("x")', 'import('],
  ['eval("1")', 'eval('],
  ['["eval("].map(() => eval ("1"))', 'eval('],
  ['`${import("x")}`', 'import('],
])('what is code is named: %s', async (code, refused) => {
  expect(await evadeCensor(code)).toEqual({ refused });
});

test('a script of megabytes does not hold up the worker', async () => {
  const lines = 'function f(a,b){const x={a:1,b:[1,2,3]};return a+b*x.a?"import(x)":`${a} <!-- `}\n';
  for (const script of [
    lines.repeat(25_000),
    `"${'\\\\'.repeat(1_000_000)}<!--"`,
    `"${'import '.repeat(300_000)}import("`,
    `"${'import'.padEnd(2_000_000)}("`,
  ]) {
    let longest = 0;
    let last = cpuMs();
    const timer = setInterval(() => {
      longest = Math.max(longest, cpuMs() - last);
      last = cpuMs();
    }, 1);
    expect(await evadeCensor(script)).toHaveProperty('code');
    longest = Math.max(longest, cpuMs() - last);
    clearInterval(timer);
    // With a parser in this process it was half a minute for the first.
    expect(longest).toBeLessThan(3_000);
  }
});
