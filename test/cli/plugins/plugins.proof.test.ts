import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runCommand } from '../../../src/platform/run-command.ts';
import { DIALECTS } from '../../../src/plugins/dialects/dialects.ts';
import { openPlugin } from '../../../src/plugins/testing/testing.ts';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { runLine } from '../support.ts';

let directory: string;
let installation: Installation;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-cli-plugins-'));
  await makeOwnPackage();
  expect(await runLine(undefined, ['plugins', 'new', 'longshore', 'words', '--directory', directory])).toMatchObject({ code: 0, err: '' });
  await mkdir(join(directory, 'broken'));
  await writeFile(join(directory, 'broken/index.ts'), 'throw new Error("no licence");');
  const plugins = [join(directory, 'words'), join(directory, 'broken')];
  const steps = [{ call: 'words:count', with: { text: 'a bb ccc' } }, { say: 'Counted.' }];
  installation = await installAgents({ counter: { plugins, tools: ['words:*'], steps } });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const line = (...args: string[]) => runLine(installation.longshore, ['plugins', ...args]);

/** What `npm install longshore` would put beside the plugins: here it leads to the source. */
async function makeOwnPackage(): Promise<void> {
  const own = join(directory, 'node_modules/longshore');
  await mkdir(own, { recursive: true });
  await writeFile(join(own, 'package.json'), JSON.stringify({ name: 'longshore', type: 'module', exports: { './testing': './testing.js' } }));
  await writeFile(join(own, 'testing.js'), `export * from '${pathToFileURL(resolve('src/plugins/testing/testing.ts')).href}';`);
}

test.each(DIALECTS.map(({ name }) => name))('a new plugin of the dialect %s is whole, and its test passes', async (dialect) => {
  const id = `made-${dialect}`;
  const made = await runLine(undefined, ['plugins', 'new', dialect, id, '--directory', directory]);
  expect(made).toMatchObject({ code: 0, err: '' });
  const fromAgents = relative('agents', join(directory, id));
  if (dialect === 'mcp') {
    expect(made.out).toContain(`mcp: { ${id}: { command: node, args: [server.mjs], directory: ${fromAgents}, where: host } }\n`);
    await symlink(resolve('node_modules'), join(directory, id, 'node_modules'));
  } else {
    expect(made.out).toContain(`plugins: [${fromAgents}]\n`);
    const checked = await runLine(undefined, ['plugins', 'check', join(directory, id), '--json']);
    expect(checked).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(checked.out)).toMatchObject({ plugins: [{ id, dialect }], problems: [] });
  }
  const [program, ...args] = /^Test it: +(.*)$/m.exec(made.out)?.[1]?.split(' ') ?? [];
  expect(program).toBe('node');
  // A checkout has no dist that "longshore/testing" could lead to.
  if (dialect !== 'mcp') expect(args.slice(0, 3)).toEqual(['--import', 'tsx', '--test']);
  const loader = pathToFileURL(resolve('node_modules/tsx/dist/loader.mjs')).href;
  // The report that Node.js gives by itself differs from one version to the next.
  const tested = await runCommand(process.execPath, ['--import', loader, '--test-reporter=tap', ...args]);
  expect({ code: tested.code, out: tested.stdout }).toMatchObject({ code: 0, out: expect.stringMatching(/# pass [1-9]\d*\n# fail 0/) as string });
});

test.each(['shell', 'plan'])('a plugin with the id of a built-in one, %s, is not made, and a check of one says what is wrong', async (id) => {
  const refused = await runLine(undefined, ['plugins', 'new', 'longshore', id, '--directory', directory]);
  expect(refused).toEqual({ code: 2, out: '', err: `name: "${id}" is the id of a built-in plugin. Take another name\n` });
  const taken = join(directory, `taken-${id}`);
  await mkdir(taken);
  await writeFile(join(taken, 'index.ts'), `import { definePlugin } from 'longshore/plugins';\nexport default definePlugin({ id: '${id}', tools: [] });\n`);
  const checked = await runLine(undefined, ['plugins', 'check', taken]);
  expect(checked).toMatchObject({ code: 1, out: expect.stringContaining(`\nproblem: Two plugins provide "${id}": a built-in plugin and ${taken}.`) as string });
});

test('a check of a directory that does not exist tells no path of an agent that there is none', async () => {
  const { code, err } = await runLine(undefined, ['plugins', 'check', join(directory, 'nowhere')]);
  expect({ code, err }).toEqual({
    code: 2,
    err: `Plugin "${join(directory, 'nowhere')}": there is no directory ${join(directory, 'nowhere')}. Correct the path; in the file of an agent it is relative to that file\n`,
  });
});

test('a new plugin loses no words that are counted at the same time', async () => {
  await using plugin = await openPlugin(join(directory, 'words'));
  const counted = await Promise.all(Array.from({ length: 10 }, () => plugin.call('count', { text: 'one two' })));
  expect(Math.max(...counted.map((value) => (value as { total: number }).total))).toBe(20);
});

test('what new writes passes the strict compiler', async () => {
  const paths = {
    'longshore/plugins': [resolve('src/plugins/api/define-plugin.ts')],
    'longshore/*': [resolve('src/plugins/dialects/*/sdk.ts')],
    zod: [resolve('node_modules/zod')],
  };
  const language = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    allowImportingTsExtensions: true,
    exactOptionalPropertyTypes: true,
  };
  const compilerOptions = { ...language, strict: true, noEmit: true, skipLibCheck: true, paths, types: ['node'], typeRoots: [resolve('node_modules/@types')] };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['made-*/*.ts'] }));
  expect(await runCommand(resolve('node_modules/.bin/tsc'), ['--project', directory])).toMatchObject({ code: 0, stdout: '' });
});

test('new refuses a name that is taken or not usable, and an unknown dialect', async () => {
  const taken = await runLine(undefined, ['plugins', 'new', 'longshore', 'words', '--directory', directory]);
  expect(taken).toMatchObject({ code: 2, err: expect.stringContaining('is not empty') as string });
  expect(await readFile(join(directory, 'words/index.ts'), 'utf8')).toContain("id: 'words'");
  const odd = await runLine(undefined, ['plugins', 'new', 'longshore', '../x', '--directory', directory]);
  expect(odd).toMatchObject({ code: 2, err: expect.stringContaining('"../x" is not usable') as string });
  expect(await runLine(undefined, ['plugins', 'new', 'klingon', 'x'])).toMatchObject({ code: 2 });
  expect(await runLine(undefined, ['plugins', 'new', 'longshore', 'x', '--directory', join(directory, 'words/index.ts')])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^--directory: ENOTDIR.*Name a directory that you may write to\n$/) as string,
  });
});

test('check shows tools, permissions and the digest, or what is wrong', async () => {
  const { out, code } = await runLine(undefined, ['plugins', 'check', join(directory, 'words')]);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^words 0\.1\.0 \(longshore\), 1 tool\npermissions: none\nconfiguration: \{.*\n\nwords:count \(tool, visible, compartment\)\n {2}Counts the words[^]*digest: sha256:[0-9a-f]{64}\n$/,
  );
  expect(await runLine(undefined, ['plugins', 'check', join(directory, 'broken')])).toMatchObject({
    code: 2,
    err: expect.stringContaining('(no licence)') as string,
  });
  expect(await runLine(undefined, ['plugins', 'check', 'no/where'])).toMatchObject({
    code: 2,
    err: expect.stringContaining(`there is no directory ${resolve('no/where')}`) as string,
  });
});

test('check shows a description of several lines as such', async () => {
  const root = join(directory, 'lines');
  await cp(join(directory, 'words'), root, { recursive: true });
  const source = await readFile(join(root, 'index.ts'), 'utf8');
  await writeFile(join(root, 'index.ts'), source.replace('Counts the words of a text', 'Counts.\\n\\nArgs:\\n  The words of a text'));
  const { out } = await runLine(undefined, ['plugins', 'check', root]);
  expect(out).toContain('\n  Counts.\n  \n  Args:\n    The words of a text');
});

test('ls and show tell how the workers have their plugins', async () => {
  const listed = await line('ls');
  expect(listed.code).toBe(0);
  expect(listed.out).toMatch(/^PLUGIN +VERSION +DIALECT +HEALTH +TOOLS +PERMISSIONS +NOTE\n/);
  expect(listed.out).toMatch(/words +0\.1\.0 +longshore +loaded +1 +none\n/);
  expect(listed.out).toMatch(/broken +failed +0 +none +Plugin ".*broken"/);
  expect((await line('show', 'words')).out).toMatch(/^words: enabled\nconfiguration \(version 0\): \{\}\n\non .*: loaded, since /);
  expect(JSON.parse((await line('show', join(directory, 'broken'), '--json')).out)).toMatchObject({ reports: [{ health: 'failed' }] });
  expect(await line('show', 'nothing')).toMatchObject({
    code: 2,
    err: expect.stringContaining('No plugin "nothing" is known to the workers. Known: ') as string,
  });
});

test('webhooks asks for no address of a plugin that has none', async () => {
  expect(await line('webhooks', 'words')).toEqual({ code: 0, out: 'No worker reports a webhook of words.\n', err: '' });
});

test('a running worker follows what is configured, disabled and enabled', async () => {
  const { plugins } = installation.longshore;
  const reported = async () => (await plugins.get('words')).reports[0];
  expect(await line('config', 'words', '--set', 'atLeast=two')).toMatchObject({
    code: 2,
    err: expect.stringContaining('/atLeast: expected integer, got string') as string,
  });
  expect(await line('config', 'words', '--set', 'atLeast=2')).toMatchObject({
    code: 0,
    out: expect.stringContaining('words has version 1 of its configuration') as string,
  });
  await until(async () => (await reported())?.configVersion === 1, 'the worker has the configuration');
  const chat = await installation.longshore.start({ agent: 'counter', user: 'user-1', message: 'Count.' });
  expect(await chat.reply()).toBe('Counted.');
  const entries = await chat.transcript();
  expect(JSON.stringify(entries)).toContain('{\\"words\\":2,\\"total\\":2}');
  expect(JSON.parse((await line('config', 'words', '--unset', 'atLeast', '--json')).out)).toEqual({ config: {}, configVersion: 2 });
  expect(JSON.parse((await line('config', 'words')).out)).toEqual({});
  expect(await line('config', 'words', '--unset', 'atLeats')).toMatchObject({
    code: 2,
    err: '--unset: the configuration has no "atLeats". Look at it: longshore plugins config <id>\n',
  });
  expect(await line('config', 'words', '--replace', '{}', '--if-version', '1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('changed by another caller') as string,
  });
  expect(await line('disable', 'words')).toMatchObject({ code: 0, out: 'words is disabled; the workers apply it within seconds.\n' });
  await until(async () => (await reported())?.health === 'disabled', 'the worker has disabled it');
  expect(await line('enable', 'words')).toMatchObject({ code: 0 });
  await until(async () => (await reported())?.health === 'loaded', 'the worker has it again');
  await writeFile(join(directory, 'broken/index.ts'), (await readFile(join(directory, 'words/index.ts'), 'utf8')).replace("'words'", "'mended'"));
  expect(await line('reload', join(directory, 'broken'))).toMatchObject({ code: 0 });
  await until(
    async () => (await plugins.list()).some(({ id, reports }) => id === 'mended' && reports[0]?.health === 'loaded'),
    'the worker has loaded what was mended',
  );
});
