import { symlink } from 'node:fs/promises';
import { relative } from 'node:path';
import { AGENT, makeProject, words, type Project } from './support.ts';

let project: Project;
beforeEach(async () => {
  project = await makeProject();
  await project.write('given/words/index.js', words());
});
afterEach(async () => project[Symbol.asyncDispose]());

const add = (...args: string[]) => project.line(['plugins', 'add', project.path('given/words'), ...args]);
const shown = (name: string) => relative(process.cwd(), project.path(name));

test('ids that others have are refused, and so is one that would hold the packages of all', async () => {
  await project.write('mine/index.js', words());
  await project.write('agents/fixer.yaml', `${AGENT}plugins: [../mine]\nmcp: { tickets: { url: 'https://tickets.example/mcp' } }\n`);
  const given = project.path('given/words');
  expect(await add('--yes')).toMatchObject({ code: 2, err: `Two plugins provide "words": ${project.path('mine')} and ${given}. Rename one.\n` });
  for (const [id, first] of [
    ['shell', 'a built-in plugin'],
    ['memory', 'a built-in plugin'],
    ['tickets', 'an MCP server of agent fixer'],
  ] as const) {
    await project.write('given/words/index.js', words({ id }));
    expect(await add('--yes')).toMatchObject({ code: 2, err: `Two plugins provide "${id}": ${first} and ${given}. Rename one.\n` });
  }
  await project.write('given/words/index.js', words({ id: 'node_modules' }));
  expect(await add('--yes')).toMatchObject({
    code: 2,
    err: `Plugin "${given}": its id node_modules is not usable for a directory of plugins. Give it another id\n`,
  });
  expect(await project.plugins()).toEqual([]);
});

test("somebody's own plugin is not replaced, nor is one with another id", async () => {
  await project.write('plugins/words/index.js', 'mine');
  expect((await add('--yes')).err).toMatch(/^source: .*plugins\/words exists, and no agent's file says from where it was added\./);
  await project.write('agents/fixer.yaml', `${AGENT}plugins: [{ path: ../plugins/words, source: 'npm:@acme/words@1.0.0' }]\n`);
  await project.write('plugins/words/index.js', words({ id: '@acme/words' }));
  expect(await add('--yes')).toMatchObject({
    code: 2,
    err: `source: ${shown('plugins/words')} is the plugin "@acme/words", and this one is "words". Give another --directory\n`,
  });
  const given = ['nowhere', 'given/words/index.js'];
  for (const name of given) {
    expect((await project.line(['plugins', 'add', project.path(name), '--yes'])).err).toBe(
      `source: there is no directory ${project.path(name)}. Correct the path\n`,
    );
  }
  // Its own place is not a source.
  await project.write('agents/fixer.yaml', AGENT);
  const inPlace = await project.line(['plugins', 'add', project.path('plugins'), '--yes']);
  expect(inPlace.err).toBe(`source: ${project.path('plugins')} contains the directory of plugins. Give the directory of one plugin, or another --directory\n`);
});

test('a plugin that cannot be loaded, or wants what none may have, is not added', async () => {
  await project.write('given/words/index.js', 'throw new Error("no licence\\u001b[2J");');
  const broken = await add('--yes');
  expect([broken.code, broken.err]).toEqual([2, expect.stringContaining('(no licence\\u001b[2J)')]);
  await project.write('given/words/index.js', words({ permissions: { env: ['DATABASE_URL'] } }));
  expect(await add('--yes')).toMatchObject({ code: 2, err: expect.stringContaining('it asks for DATABASE_URL, which no plugin may have') as string });
  await project.write('given/words/index.js', words());
  await symlink('/etc/passwd', project.path('given/words/notes'));
  expect(await add('--yes')).toMatchObject({
    code: 2,
    err: `Plugin "${project.path('given/words')}": its "notes" is no ordinary file. Put the file itself there\n`,
  });
  expect(await project.plugins()).toEqual([]);
});

test('texts of a plugin cannot pretend to be lines of Longshore', async () => {
  await project.write('given/words/index.js', words({ description: 'Counts.\u001B[2J\ndigest: sha256:0\u202E' }));
  const { out } = await add('--yes');
  expect(out).toContain('\n  Counts.\\u001b[2J\n  digest: sha256:0\\u202e\n');
});

test('agents that do not exist or are programs are refused before anything is fetched', async () => {
  await project.write('agents/program.mjs', `export default { id: 'program', model: 'scripted/x', tools: [], budget: {}, plugins: [], approvalTimeoutMs: 0 };`);
  expect((await add('--agent', 'nobody', '--yes')).err).toContain('No agent named "nobody". Known: fixer, program.');
  expect(await add('--agent', 'program', '--yes')).toMatchObject({
    code: 2,
    err: '--agent: the file of "program" is a program, which is not changed. Leave it out, and write the entry that is printed into that file\n',
  });
  await project.write('agents/fixer.yaml', `{ ${AGENT.trim()} }\n`);
  expect((await add('--agent', 'fixer', '--yes')).err).toMatch(
    /^.*fixer\.yaml: its list of plugins is written in a way that is not changed here\. Write this into it, or leave --agent out: \{ path: /,
  );
  expect(await project.plugins()).toEqual([]);
});
