import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AGENTS = 'examples/agents';
const SET = `LONGSHORE_AGENTS=${AGENTS} `;
/** A command that starts a conversation, or a program that does. */
const STARTS = /(?<before>\S+ )?(?:npm run longshore -- (?:run|chat) (?<agent>[\w-]+)|npx tsx examples\/[\w-]+\.ts)/g;

async function textsIn(directory: string, ending: string): Promise<[string, string][]> {
  const names = (await readdir(join(ROOT, directory))).filter((name) => name.endsWith(ending));
  return Promise.all(names.map(async (name) => [join(directory, name), await readFile(join(ROOT, directory, name), 'utf8')] as [string, string]));
}

test('a line that talks to an agent of the examples says where the agents are, in each terminal', async () => {
  const agents = await textsIn(AGENTS, '.yaml');
  const ids = new Set(agents.map(([, text]) => /^id: (.+)$/m.exec(text)?.[1]));
  const readme: [string, string] = ['README.md', await readFile(join(ROOT, 'README.md'), 'utf8')];
  const found = [readme, ...agents, ...(await textsIn('docs/guides', '.md'))].flatMap(([path, text]) =>
    [...text.matchAll(STARTS)]
      .filter(({ groups }) => groups?.['agent'] === undefined || ids.has(groups['agent']))
      .map(([line, before = '']) => ({ path, line, says: before.replace(/^[`(]/, '') })),
  );
  expect(found.length).toBeGreaterThan(12);
  expect(found.filter(({ says }) => says !== SET)).toEqual([]);
});
