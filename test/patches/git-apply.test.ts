import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { describeDifference } from '../../src/patches/describe-difference.ts';
import { nameBytes } from '../../src/patches/git-names.ts';
import type { DifferenceSide } from '../../src/sandbox/api/differences.ts';

/** `git apply` of a patch makes the later files of the earlier ones, whatever their names and contents. */
interface Thing {
  kind: 'file' | 'runnable' | 'link';
  content: string;
}
/** Names and contents have one character per byte. */
type Tree = Map<string, Thing>;

const run = promisify(execFile);
const isThere = await run('git', ['--version']).then(
  () => true,
  () => false,
);
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-patches-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const at = (root: string, name: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
const parentOf = (name: string) => dirname(name);

async function write(root: string, tree: Tree): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const [name, { kind, content }] of tree) {
    await mkdir(at(root, parentOf(name)), { recursive: true });
    const bytes = Buffer.from(content, 'latin1');
    if (kind === 'link') await symlink(bytes, at(root, name));
    else {
      await writeFile(at(root, name), bytes);
      await chmod(at(root, name), kind === 'runnable' ? 0o755 : 0o644);
    }
  }
}

async function read(root: string): Promise<Tree> {
  const found: Tree = new Map();
  const visit = async (below: string): Promise<void> => {
    for (const bytes of await readdir(at(root, below), { encoding: 'buffer' })) {
      const name = `${below === '' ? '' : `${below}/`}${bytes.toString('latin1')}`;
      const path = at(root, name);
      const status = await lstat(path);
      if (status.isDirectory()) await visit(name);
      else if (status.isSymbolicLink()) found.set(name, { kind: 'link', content: (await readlink(path, { encoding: 'buffer' })).toString('latin1') });
      else found.set(name, { kind: (status.mode & 0o100) === 0 ? 'file' : 'runnable', content: (await readFile(path)).toString('latin1') });
    }
  };
  await visit('');
  return found;
}

/** As the supervisor reports a name: bytes that are not UTF-8 as lone surrogates. */
function pathOf(name: string): string {
  const text = Buffer.from(name, 'latin1').toString();
  return text.includes('\uFFFD')
    ? Array.from(name)
        .map((character) => (character < '\u0080' ? character : String.fromCharCode(0xdc00 + character.charCodeAt(0))))
        .join('')
    : text;
}
function sideOf(thing: Thing | undefined): DifferenceSide | undefined {
  if (!thing) return undefined;
  const content = Buffer.from(thing.content, 'latin1');
  return thing.kind === 'link'
    ? { type: 'link', target: pathOf(thing.content) }
    : { type: 'file', mode: thing.kind === 'file' ? 0o644 : 0o755, size: content.length, content };
}
const isEqual = (one: Thing | undefined, other: Thing | undefined) => JSON.stringify(one) === JSON.stringify(other);

async function patchOf(before: Tree, after: Tree, leftMs = 10_000): Promise<Buffer> {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted().filter((name) => !isEqual(before.get(name), after.get(name)));
  const parts: Buffer[] = [];
  for (const name of names) {
    const [old, current] = [sideOf(before.get(name)), sideOf(after.get(name))];
    const described = await describeDifference(
      { path: pathOf(name), ...(old && { before: old }), ...(current && { after: current }) },
      { patch: true, budget: { leftMs } },
    );
    parts.push(described.patch);
  }
  return Buffer.concat(parts);
}

let count = 0;
async function applied(before: Tree, patch: Buffer, ...options: string[]): Promise<Tree> {
  const root = join(directory, String((count += 1)));
  await write(root, before);
  if (patch.length > 0) {
    const file = join(directory, 'patch');
    await writeFile(file, patch);
    await run('git', ['apply', '--whitespace=nowarn', ...options, file], { cwd: root, env: { ...process.env, GIT_CEILING_DIRECTORIES: directory } });
  }
  const found = await read(root);
  await rm(root, { recursive: true, force: true });
  return found;
}
const sorted = (tree: Tree) => [...tree].toSorted(([one], [other]) => (one < other ? -1 : 1));

const character = fc.constantFrom('a', 'b', ' ', '"', '\\', '\n', '\t', '\r', 'é', '\u00c3\u00a9', '\u0001', '-', '\u007f', "'", '#');
const component = fc.array(character, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
const line = fc.constantFrom('one', 'two', 'three', '', '-- a', '@@ -1 +1 @@', 'diff --git a/x b/x', '\u00ff\u00fe', '# left out', '\\ No newline', 'with\r');
const text = fc.tuple(fc.array(line, { maxLength: 30 }), fc.boolean()).map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));
const binary = fc.uint8Array({ maxLength: 300 }).map((bytes) => `\0${Buffer.from(bytes).toString('latin1')}`);
const target = component.map((name) => name);
const thing: fc.Arbitrary<Thing> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('file' as const, 'runnable' as const), content: text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('file' as const), content: binary }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('link' as const), content: target }) },
);
const names = fc.array(fc.array(component, { minLength: 1, maxLength: 3 }), { maxLength: 6 }).map((paths) => paths.map((parts) => parts.join('/')));
/** A name is a file or a directory. */
function tree(pool: string[], things: (Thing | undefined)[]): Tree {
  const made: Tree = new Map();
  for (const [index, name] of pool.entries()) {
    const found = things[index];
    const isTaken = [...made.keys()].some((other) => other === name || other.startsWith(`${name}/`) || name.startsWith(`${other}/`));
    if (found && !isTaken) made.set(name, found);
  }
  return made;
}
const things = fc.array(fc.option(thing, { nil: undefined }), { minLength: 6, maxLength: 6 });
const pairs = fc
  .tuple(names, things, things, fc.boolean())
  .map(([pool, old, current, turned]) => [tree(pool, old), tree(turned ? pool.toReversed() : pool, current)] as const);

(isThere ? test : test.skip)(
  'git makes the later tree of the earlier one, and the earlier one again',
  async () => {
    await fc.assert(
      fc.asyncProperty(pairs, fc.constantFrom(0, 10_000), async ([before, after], budget) => {
        const patch = await patchOf(before, after, budget);
        expect(sorted(await applied(before, patch))).toEqual(sorted(after));
        expect(sorted(await applied(after, patch, '--reverse'))).toEqual(sorted(before));
      }),
      { numRuns: Number(process.env['LONGSHORE_TEST_RUNS'] ?? 40) },
    );
  },
  120_000,
);

test('a name keeps its bytes', () => {
  expect(nameBytes('a\udcff\u{10080}é')).toEqual(Buffer.from('61fff0908280c3a9', 'hex'));
});
