import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES_OF_THE_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'];

/** Every page, by its path from the root. */
async function pages(): Promise<string[]> {
  const found = await readdir(join(ROOT, 'docs'), { recursive: true });
  return [...PAGES_OF_THE_ROOT, ...found.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))];
}

/** What a page links to on this disk, by path from the root; `fragment` is the heading that is meant. */
async function linksOf(page: string): Promise<{ target: string; fragment: string }[]> {
  const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll(/^```.*?^```/gms, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, href = '']) => {
    if (/^[a-z]+:/.test(href)) return [];
    const [path = '', fragment = ''] = href.split('#');
    return [{ target: path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path)), fragment }];
  });
}

/** The anchors of a page's headings, as they are made on GitHub. */
async function anchorsOf(page: string): Promise<string[]> {
  const headings = (await readFile(join(ROOT, page), 'utf8')).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every relative link leads to a file, and to a heading where it names one', async () => {
  const broken: string[] = [];
  for (const page of await pages()) {
    for (const { target, fragment } of await linksOf(page)) {
      const exists = await access(join(ROOT, target)).then(
        () => true,
        () => false,
      );
      if (!exists) broken.push(`${page}: ${target}`);
      else if (fragment !== '' && !(await anchorsOf(target)).includes(fragment)) broken.push(`${page}: ${target}#${fragment}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every page of the documentation can be reached from the README; a link to a folder leads to its pages', async () => {
  const all = await pages();
  const reached = new Set(['README.md']);
  for (const page of reached) {
    const targets = (await linksOf(page)).map(({ target }) => target);
    for (const other of all) if (targets.includes(other) || targets.includes(dirname(other))) reached.add(other);
  }
  expect(all.filter((page) => !reached.has(page) && page !== 'CHANGELOG.md')).toEqual([]);
});
