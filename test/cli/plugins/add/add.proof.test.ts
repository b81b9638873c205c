import { mkdir, rename, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { loadAgents } from '../../../../src/definitions/agents/load-agents.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { openIsolates } from '../../../../src/plugins/isolates/load-isolated.ts';
import { boundsOf, checkBounds } from '../../../../src/plugins/manager/permission-bounds.ts';
import { loadSource, sourcesOf } from '../../../../src/plugins/manager/plugin-source.ts';
import { digestOf } from '../../../../src/plugins/manager/pins.ts';
import { AGENT, makeProject, words, type Project } from './support.ts';

let project: Project;
beforeEach(async () => {
  project = await makeProject();
  await project.write('given/words/index.js', words({ permissions: { network: ['api.example'], time: true } }));
});
afterEach(async () => project[Symbol.asyncDispose]());

const add = (...args: string[]) => project.line(['plugins', 'add', project.path('given/words'), ...args]);
const digest = () => digestOf(project.path('plugins/words'));
const entryOf = (digest: string, permissions = 'permissions: { network: [ api.example ], time: true }') =>
  `{ path: ../plugins/words, source: ../given/words, digest: ${digest}, ${permissions} }`;
const shown = (name: string) => relative(process.cwd(), project.path(name));

test('a directory is shown, copied and pinned in the file of an agent, whose other lines stay', async () => {
  await project.write('agents/fixer.yaml', `# Mine\n${AGENT}tools: ['words:*'] # all\n`);
  const done = await add('--agent', 'fixer', '--yes');
  const pinned = await digest();
  expect(done).toEqual({
    code: 0,
    err: '',
    out: `words 1.0.0 (longshore), 1 tool
permissions: {"network":["api.example"],"time":true}

words:count (tool, visible, compartment)
  Counts words.
  {"type":"object","properties":{}}

digest: ${pinned}
source: ../given/words
directory: ${shown('plugins/words')}

is written into ${shown('agents/fixer.yaml')}

Added words 1.0.0.
Its tools are called if the agent has them:  tools: ['words:*']
Workers read the files of agents when they start.
`,
  });
  expect(await project.read('agents/fixer.yaml')).toBe(`# Mine\n${AGENT}tools: ['words:*'] # all\nplugins:\n  - ${entryOf(pinned)}\n`);
  expect(await project.read('plugins/words/index.js')).toBe(await project.read('given/words/index.js'));
  expect(await project.plugins()).toEqual(['words']);
});

test('without an agent the entry is printed; pasted, it lets the plugin be updated', async () => {
  const done = await add('--yes');
  const entry = entryOf(await digest());
  expect(done.out).toContain(`\nAdded words 1.0.0.\nIn the file of an agent:  plugins: [${entry}]\n`);
  expect(await project.read('agents/fixer.yaml')).toBe(AGENT);

  await project.write('given/words/index.js', words({ version: '1.1.0' }));
  expect(await add('--yes')).toMatchObject({
    code: 2,
    err: `source: ${shown('plugins/words')} exists, and no agent's file says from where it was added. Move it away, give another --directory, or write the entry that was printed when it was added into the file of an agent\n`,
  });
  await project.write('agents/fixer.yaml', `${AGENT}plugins: [${entry}]\n`);
  expect(await add('--yes')).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}plugins: [${entryOf(await digest(), 'permissions: {}')}]\n`);
});

test('adding again shows what has changed since, asks, and changes every pin', async () => {
  await project.write('agents/other.yaml', AGENT);
  await project.write('agents/third.yaml', `${AGENT}plugins: [../plugins/words]\n`);
  await add('--agent', 'fixer', '--agent', 'other', '--yes');
  const first = await digest();
  await project.write(
    'given/words/index.js',
    words({ version: '2.0.0', description: 'Counts all.', permissions: { network: ['evil.example'], env: ['KEY'] }, tools: ['count', 'send'] }),
  );
  const asked: string[] = [];
  const args = ['plugins', 'add', project.path('given/words')];
  const refused = await project.line(args, { answer: () => (asked.push('asked'), 'n') });
  expect(refused).toMatchObject({ code: 1, err: '', out: expect.stringMatching(/Replace words by this version\? \(y\/N\) Nothing was added\.\n$/) as string });
  expect([await digest(), asked]).toEqual([first, ['asked']]);

  const done = await project.line(args, { answer: () => 'y' });
  const second = await digest();
  expect(done.out).toContain(`
What changes:
  permissions: it also asks for {"network":["evil.example"],"env":["KEY"]}
  permissions: it no longer asks for {"network":["api.example"],"time":true}
  new tools: send
  changed tool: count (description, permissions)
  version: 1.0.0 -> 2.0.0
  files: ${first} -> ${second}

is written into ${shown('agents/fixer.yaml')}
is written into ${shown('agents/other.yaml')}
`);
  const plugins = `plugins:\n  - ${entryOf(second, 'permissions: { network: [ evil.example ], env: [ KEY ] }')}\n`;
  expect(await project.read('agents/fixer.yaml')).toBe(AGENT + plugins);
  expect(await project.read('agents/other.yaml')).toBe(AGENT + plugins);
  expect(await project.read('agents/third.yaml')).toBe(`${AGENT}plugins: [../plugins/words]\n`);
  expect((await add('--yes')).out).toContain('\nwords 2.0.0 is there already, and nothing has changed.\n');
});

test('what an operator allows beyond the questions of a plugin stays', async () => {
  await add('--agent', 'fixer', '--yes');
  const wider = 'permissions: { network: [ api.example, more.example ], time: true, random: true }';
  await project.write('agents/fixer.yaml', `${AGENT}plugins:\n  - ${entryOf(await digest(), wider)}\n`);
  await project.write('given/words/index.js', words({ permissions: { network: ['more.example:443', 'new.example'] } }));
  await add('--yes');
  const after = 'permissions: { network: [ more.example, new.example ], random: true }';
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}plugins:\n  - ${entryOf(await digest(), after)}\n`);
});

test('files in place that are not those that were pinned are told', async () => {
  await add('--agent', 'fixer', '--yes');
  const pinned = await digest();
  await project.write('plugins/words/index.js', words({ version: '6.6.6' }));
  const changed = await digest();
  expect((await add('--yes')).out).toContain(
    `\n  version: 6.6.6 -> 1.0.0\n  files: ${changed} -> ${pinned}\n  what is there now is not what was pinned: ${pinned}\n`,
  );
});

test('what is copied is what was shown, whatever the source becomes meanwhile', async () => {
  const good = await project.read('given/words/index.js');
  const done = await project.line(['plugins', 'add', project.path('given/words')], {
    async answer() {
      await project.write('given/words/index.js', words({ permissions: { fs: ['/etc'] } }));
      return 'yes';
    },
  });
  expect(done).toMatchObject({ code: 0, err: '' });
  expect(await project.read('plugins/words/index.js')).toBe(good);
  expect(done.out).toContain(`digest: ${await digest()}\n`);
});

test('files that change where they wait, and a place that changes meanwhile, are found', async () => {
  const during = (change: () => Promise<void>) =>
    project.line(['plugins', 'add', project.path('given/words')], {
      async answer() {
        await change();
        return 'y';
      },
    });
  const staged = await during(async () => {
    const [waiting = ''] = await project.plugins();
    await writeFile(project.path('plugins', waiting, 'words/index.js'), 'evil');
  });
  expect(staged).toMatchObject({ code: 2, err: 'source: its files were changed meanwhile. Try again\n' });
  const placed = await during(() => project.write('plugins/words/index.js', 'mine'));
  expect(placed).toMatchObject({ code: 2, err: `${project.path('plugins/words')}: its files were changed meanwhile. Try again\n` });
  expect(await project.read('plugins/words/index.js')).toBe('mine');
  expect(await project.plugins()).toEqual(['words']);
});

test('a file of an agent that changes meanwhile leaves everything as it was', async () => {
  const done = await project.line(['plugins', 'add', project.path('given/words'), '--agent', 'fixer'], {
    async answer() {
      await project.write('agents/fixer.yaml', `${AGENT}plan: true\n`);
      return 'y';
    },
  });
  expect(done).toMatchObject({ code: 2, err: `${project.path('agents/fixer.yaml')}: it was changed by another program meanwhile. Try again\n` });
  expect([await project.plugins(), await project.read('agents/fixer.yaml')]).toEqual([[], `${AGENT}plan: true\n`]);
});

test('where no question can be asked, nothing is done', async () => {
  expect(await add()).toMatchObject({ code: 2, err: 'plugins add: the input is not a terminal, so it cannot ask for confirmation. Add --yes\n' });
  expect(await add('--json')).toMatchObject({ code: 2, err: '--json: it leaves no place for a question. Add --yes\n' });
  expect(await project.plugins()).toEqual([]);
});

test('an interruption while the question waits leaves nothing', async () => {
  const stop = new AbortController();
  const done = await project.line(['plugins', 'add', project.path('given/words')], {
    interrupt: stop.signal,
    answer: () => new Promise<string>(() => stop.abort()),
  });
  expect(done).toMatchObject({ code: 130, err: '', out: expect.stringMatching(/\(y\/N\) \s*Nothing was added\.\n$/) as string });
  expect(await project.plugins()).toEqual([]);
});

test('what a killed process has left is removed, and what it has moved away is put back', async () => {
  await add('--agent', 'fixer', '--yes');
  await rename(project.path('plugins/words'), project.path('plugins/.words.replaced'));
  await mkdir(project.path('plugins/.add.999999-1-x.0123abcd/words'), { recursive: true });
  const again = await add('--yes');
  expect(again.out).toContain('words 1.0.0 is there already, and nothing has changed.');
  expect(await project.plugins()).toEqual(['words']);
});

test('a worker loads what was added, and no other files in its place', async () => {
  await add('--agent', 'fixer', '--yes');
  const agents = await loadAgents(project.path('agents'), project.path('templates'));
  const [source] = sourcesOf(agents.values());
  await using isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }), weaklyFenced: 'all' });
  const options = { directory: project.path('agents'), hostPlugins: [], isolates };
  {
    await using loaded = await loadSource(source!, options);
    expect([loaded.problems, loaded.plugins.map(({ id }) => id)]).toEqual([[], ['words']]);
    for (const plugin of loaded.plugins) await checkBounds(plugin, boundsOf(source!.pins));
  }
  const pinned = await digest();
  await project.write('plugins/words/more.js', 'evil');
  const found = await digest();
  await expect(loadSource(source!, options)).rejects.toThrow(`it is pinned to ${pinned}, and its files have ${found}`);
});

test('as JSON', async () => {
  const { out } = await add('--agent', 'fixer', '--yes', '--json');
  expect(JSON.parse(out)).toMatchObject({
    plugin: {
      id: 'words',
      version: '1.0.0',
      dialect: 'longshore',
      requirements: [],
      permissions: { network: ['api.example'], time: true },
      tools: [{ id: 'count' }],
    },
    source: '../given/words',
    digest: await digest(),
    directory: project.path('plugins/words'),
    added: true,
    agents: ['fixer'],
    entry: { path: '../plugins/words', source: '../given/words', digest: await digest(), permissions: { network: ['api.example'], time: true } },
  });
});
