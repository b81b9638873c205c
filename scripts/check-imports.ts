/**
 * Holds the table of docs/architecture.md: each part of src imports what its row names and nothing else, types included, each part has a row, no two
 * folders import each other at any depth, and neither parts nor files import each other in a circle. Prints what breaks it, with file and line.
 *   tsx scripts/check-imports.ts
 */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, type TSImportType } from 'oxc-parser';

/** Parts in which the same input has to give the same result. */
const PURE = ['workflows', 'contracts', 'common'];

interface Import {
  from: string;
  line: number;
  /** Path from src, or the name of a module. */
  to: string;
  isOwn: boolean;
}

/** What each part may import, by the parts' paths from src. */
export function readTable(page: string): Map<string, Set<string>> {
  const rows = [...page.matchAll(/^\| `([^`]+)` \|[^|]*\|([^|]*)\|$/gm)];
  return new Map(rows.map(([, part = '', allowed = '']) => [part, new Set([...allowed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))]));
}

export function importsOf(from: string, source: string): Import[] {
  const { module, program } = parseSync(from, source);
  const named = [
    ...importTypes(program).map(({ source }) => source),
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) => entries[0]?.moduleRequest ?? []),
  ];
  const computed = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({ start, value: source.slice(start + 1, end - 1) }));
  return [...named, ...computed].map(({ start, value }) => {
    const isOwn = value.startsWith('.');
    return { from, line: source.slice(0, start).split('\n').length, to: isOwn ? join(dirname(from), value) : value, isOwn };
  });
}

/** Types of the form `import('./x.ts').T` below a node of the syntax tree. The parser's list of imports leaves them out. */
function importTypes(node: unknown): TSImportType[] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.values(node).flatMap(importTypes);
  return 'type' in node && node.type === 'TSImportType' ? [node as TSImportType, ...below] : below;
}

/** All problems, one line each. */
export function problemsOf(table: Map<string, Set<string>>, files: string[], imports: Import[]): string[] {
  const partOf = (path: string) => [...table.keys()].filter((part) => path === part || path.startsWith(`${part}/`)).toSorted((a, b) => b.length - a.length)[0];
  const homeless = files.filter((file) => partOf(file) === undefined).map((file) => `src/${file}: no row of the table has it`);
  const empty = [...table.keys()].filter((part) => !files.some((file) => partOf(file) === part)).map((part) => `${part}: it has a row and no files`);
  const used = new Set<string>();
  const arrows = new Set(imports.filter(({ isOwn }) => isOwn).map(({ from, to }) => `${from} ${to}`));
  const crossed = imports.flatMap(({ from, line, to, isOwn }) => {
    const [part = '', other = ''] = [partOf(from), isOwn ? partOf(to) : undefined];
    if (!isOwn) return PURE.includes(part) && to.startsWith('node:') ? [`src/${from}:${line}: ${part} imports no module of Node.js, and this is ${to}`] : [];
    if (part === other) return [];
    used.add(`${part} ${other}`);
    return table.get(part)?.has(other) ? [] : [`src/${from}:${line}: ${part} may not import ${other} (${to})`];
  });
  const unused = [...table].flatMap(([part, allowed]) =>
    [...allowed].filter((other) => !used.has(`${part} ${other}`)).map((other) => `${part}: its row allows ${other}, which it does not import`),
  );
  // `mutual` reports two folders that import each other.
  const ofParts = circles(used).filter((circle) => circle.length > 3 || circle.some((part) => part.endsWith('.ts')));
  const ofFiles = circles(arrows).map((circle) => circle.map((file) => `src/${file}`));
  const rings = [...ofParts, ...ofFiles].map((circle) => `${circle.join(', ')}: each imports the next`);
  return [...homeless, ...empty, ...crossed, ...unused, ...mutual(imports), ...rings];
}

/** Pairs of folders that import each other: those of two files, and those above them up to where their paths meet. */
function mutual(imports: Import[]): string[] {
  const arrows = new Map<string, string>();
  for (const { from, line, to, isOwn } of imports) {
    if (!isOwn) continue;
    for (const [a, b] of foldersBetween(from, to)) arrows.set(`${a} ${b}`, `src/${from}:${line}`);
  }
  return [...arrows].flatMap(([arrow, where]) => {
    const [a = '', b = ''] = arrow.split(' ');
    const back = a < b ? arrows.get(`${b} ${a}`) : undefined;
    return back === undefined ? [] : [`${a} and ${b} import each other: ${where} and ${back}`];
  });
}

/** The shortest circle of each group of parts or files that all lead to each other; its first member ends it too. */
function circles(arrows: ReadonlySet<string>): string[][] {
  const next = new Map<string, string[]>();
  for (const arrow of arrows) {
    const [from = '', to = ''] = arrow.split(' ');
    if (to !== '') next.set(from, [...(next.get(from) ?? []), to]);
  }
  const walks = [...next.keys()].map((start) => walkFrom(start, next)).toSorted((a, b) => a.circle.length - b.circle.length);
  const found: Walk[] = [];
  for (const walk of walks) {
    const isKnown = found.some(({ start, reached }) => reached.has(walk.start) && walk.reached.has(start));
    if (walk.circle.length > 0 && !isKnown) found.push(walk);
  }
  return found.map(({ circle }) => circle);
}

interface Walk {
  start: string;
  reached: ReadonlySet<string>;
  /** The shortest path back to the start; empty where none leads there. */
  circle: string[];
}

function walkFrom(start: string, next: ReadonlyMap<string, string[]>): Walk {
  const reached = new Set<string>();
  const paths = [[start]];
  let circle: string[] = [];
  for (const path of paths) {
    for (const to of next.get(path.at(-1) ?? '') ?? []) {
      if (reached.has(to)) continue;
      reached.add(to);
      if (to === start) circle = [...path, to];
      else paths.push([...path, to]);
    }
  }
  return { start, reached, circle };
}

function foldersBetween(from: string, to: string): [string, string][] {
  const [a, b] = [dirname(from).split('/'), dirname(to).split('/')];
  const depths = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index + 1);
  const pairs = depths.map((depth): [string, string] => [a.slice(0, depth).join('/'), b.slice(0, depth).join('/')]);
  return pairs.filter(([one, other]) => one !== other && one !== '.' && other !== '.');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = (await readdir(join(root, 'src'), { recursive: true })).filter((file) => /\.(ts|py)$/.test(file)).map((file) => relative('.', file));
  const modules = files.filter((file) => file.endsWith('.ts'));
  const imports = (await Promise.all(modules.map(async (file) => importsOf(file, await readFile(join(root, 'src', file), 'utf8'))))).flat();
  const problems = problemsOf(readTable(await readFile(join(root, 'docs/architecture.md'), 'utf8')), files, imports);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
