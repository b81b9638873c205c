import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { importsOf, problemsOf, readTable } from '../../scripts/check-imports.ts';

const TABLE = readTable(`
| part of \`src\` | what it is | what it may import |
|---|---|---|
| \`store\` | queries | \`contracts\` |
| \`contracts\` | types | nothing of ours |
| \`workflows\` | decisions | \`contracts\` |
`);
const FILES = ['store/store.ts', 'contracts/errors.ts', 'workflows/turn.ts'];
const ALLOWED = { 'store/store.ts': `import '../contracts/errors.ts';`, 'workflows/turn.ts': `export { x } from '../contracts/errors.ts';` };

function problems(sources: Record<string, string>, files = FILES) {
  return problemsOf(
    TABLE,
    files,
    Object.entries({ ...ALLOWED, ...sources }).flatMap(([from, source]) => importsOf(from, source)),
  );
}

test('what the table allows is no problem', () => {
  expect(problems({})).toEqual([]);
});

test.each([
  ['a value', `import { store } from '../store/store.ts';`],
  ['a type', `import type { Store } from '../store/store.ts';`],
  ['a type by its path', `type Store = import('../store/store.ts').Store;`],
  ['the type of a module', `type Open = (typeof import('../store/store.ts'))['open'];`],
  ['an export', `export * from '../store/store.ts';`],
  ['an import when it is needed', `const store = await import('../store/store.ts');`],
])('%s from a part that the row does not name is told with its line', (_kind, statement) => {
  expect(problems({ 'contracts/errors.ts': `\n${statement}\n` })).toEqual([
    'src/contracts/errors.ts:2: contracts may not import store (store/store.ts)',
    'contracts and store import each other: src/contracts/errors.ts:2 and src/store/store.ts:1',
    'src/store/store.ts, src/contracts/errors.ts, src/store/store.ts: each imports the next',
  ]);
});

test('a folder without a row, a row without files, and a permission that nothing uses are told', () => {
  expect(problems({}, [...FILES, 'garden/rose.ts'])).toEqual(['src/garden/rose.ts: no row of the table has it']);
  expect(problems({}, FILES.slice(0, 2))).toEqual(['workflows: it has a row and no files']);
  expect(problems({ 'workflows/turn.ts': '' })).toEqual(['workflows: its row allows contracts, which it does not import']);
});

test('parts that import each other in a circle are told', () => {
  const table = readTable(`
| \`a\` | | \`b\` |
| \`b\` | | \`c\` |
| \`c\` | | \`a\` |
`);
  const imports = ['ab', 'bc', 'ca'].flatMap(([from, to]) => importsOf(`${from}/x.ts`, `import '../${to}/x.ts';`));
  expect(problemsOf(table, ['a/x.ts', 'b/x.ts', 'c/x.ts'], imports)).toEqual([
    'a, b, c, a: each imports the next',
    'src/a/x.ts, src/b/x.ts, src/c/x.ts, src/a/x.ts: each imports the next',
  ]);
});

test('a part of one file and a folder that import each other are told', () => {
  const table = readTable('| `client.ts` | | `cli` |\n| `cli` | | `client.ts` |\n');
  const imports = [...importsOf('client.ts', `import './cli/a.ts';`), ...importsOf('cli/b.ts', `import '../client.ts';`)];
  expect(problemsOf(table, ['client.ts', 'cli/a.ts', 'cli/b.ts'], imports)).toEqual(['client.ts, cli, client.ts: each imports the next']);
});

test.each([
  ['two files', { a: `import { b } from './b.ts';`, b: `import { a } from './a.ts';` }, ['a', 'b', 'a']],
  ['two files, by a type', { a: `import { b } from './b.ts';`, b: `type A = import('./a.ts').A;` }, ['a', 'b', 'a']],
  ['three files', { a: `import './b.ts';`, b: `import type { C } from './c.ts';`, c: `export type { A } from './a.ts';` }, ['a', 'b', 'c', 'a']],
  ['three files with a shorter way', { a: `import './b.ts';`, b: `import './c.ts';`, c: `import './b.ts'; import './a.ts';` }, ['b', 'c', 'b']],
])('a circle of %s is told once, by its shortest way', (_kind, sources, circle) => {
  const inStore = Object.fromEntries(Object.entries(sources).map(([name, source]) => [`store/${name}.ts`, source]));
  expect(problems(inStore)).toEqual([`${circle.map((name) => `src/store/${name}.ts`).join(', ')}: each imports the next`]);
});

test('circles that do not lead to each other are told one by one, and files that only lead to a circle are not part of it', () => {
  const pair = (one: string, other: string) => ({ [`store/${one}.ts`]: `import './${other}.ts';`, [`store/${other}.ts`]: `import './${one}.ts';` });
  expect(problems({ ...pair('a', 'b'), ...pair('c', 'd'), 'store/all.ts': `import './a.ts'; import './c.ts';` })).toEqual([
    'src/store/a.ts, src/store/b.ts, src/store/a.ts: each imports the next',
    'src/store/c.ts, src/store/d.ts, src/store/c.ts: each imports the next',
  ]);
});

test('two folders within a part do not import each other, nor does a folder and one in it', () => {
  const inside = { 'store/blobs/s3.ts': `import '../store.ts';`, 'store/store.ts': `import './blobs/s3.ts'; import '../contracts/errors.ts';` };
  expect(problems(inside)).toEqual([
    'store and store/blobs import each other: src/store/store.ts:1 and src/store/blobs/s3.ts:1',
    'src/store/store.ts, src/store/blobs/s3.ts, src/store/store.ts: each imports the next',
  ]);
});

test('code that has to give the same result each time imports no module of Node.js', () => {
  expect(problems({ 'contracts/errors.ts': `import { readFile } from 'node:fs/promises';` })).toEqual([
    'src/contracts/errors.ts:1: contracts imports no module of Node.js, and this is node:fs/promises',
  ]);
});

describe('in src, test, scripts and bench', () => {
  const SOURCE = /\.(ts|js|mjs|cjs|py|pl|sh|sql)$/;
  const paths = async () => {
    const listed = ['src', 'test', 'scripts', 'bench'].map((folder) => readdir(folder, { recursive: true, withFileTypes: true }));
    return (await Promise.all(listed)).flat().flatMap((entry) => (entry.isFile() && SOURCE.test(entry.name) ? [join(entry.parentPath, entry.name)] : []));
  };

  test('no file has more than 300 lines', async () => {
    const lengths = (await paths()).map(async (path) => [path, (await readFile(path, 'utf8')).split('\n').length - 1] as const);
    expect((await Promise.all(lengths)).filter(([, lines]) => lines > 300)).toEqual([]);
  });

  test('no folder holds more than 25 files, but that of the migrations', async () => {
    const counts = new Map<string, number>();
    // One that has landed is never changed or moved.
    const movable = (await paths()).filter((path) => !path.startsWith('src/store/database/migrations/'));
    for (const path of movable) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect(counts.size).toBeGreaterThan(50);
    expect([...counts].filter(([, count]) => count > 25)).toEqual([]);
  });
});

test.each(['docs/architecture.md', 'docs/glossary.md', 'CONTRIBUTING.md'])('every path that %s names is there', async (name) => {
  const page = await readFile(name, 'utf8');
  const named = [...page.matchAll(/`((?:src|test|scripts|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
