import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installAgents, type Installation } from '../e2e/support.ts';
import { packProject, type PackedProject } from './packed.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LONG_MS = 600_000;
const REPLY = 'The test is fixed.\n';

let project: PackedProject;
let installation: Installation;
const inProject = (name: string) => join(project.directory, 'node_modules', name);
const cli = (...args: string[]) => project.run(process.execPath, [inProject('longshore/bin/longshore.js'), ...args], installation.environment);

beforeAll(async () => {
  installation = await installAgents({ fixer: { steps: [{ say: 'The test is fixed.' }] } });
  project = await packProject();
  await project.install('--omit=optional');
}, LONG_MS);
afterAll(async () => {
  await project[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, LONG_MS);

/** Runs a worker of the installed package while `work` runs. */
async function withWorker(work: () => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [inProject('longshore/bin/longshore.js'), 'worker'], {
    env: installation.environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let said = '';
  try {
    await new Promise<void>((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk).includes('worker ready') && resolve());
      child.once('exit', () => reject(new Error(said)));
    });
    await work();
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

test('packing a checkout builds it first', () => {
  for (const file of ['dist/client.js', 'dist/client.d.ts', 'dist/sandbox/supervisor/supervisor.py', 'setup/postgres/package-lock.json', 'bin/longshore.js']) {
    expect(project.files).toContain(file);
  }
  expect(project.files.filter((file) => /^(src|test|node_modules)\//.test(file))).toEqual([]);
});

test('without optional dependencies there is no native core, and none of it is needed for sandboxes and clients', async () => {
  expect(await readdir(inProject('@temporalio'))).not.toContain('core-bridge');
  await project.write(
    'sandbox.mjs',
    `import { openSandbox } from 'longshore/sandbox';
     const sandbox = await openSandbox({ ttlMs: 600_000 });
     try {
       const { stdout } = await sandbox.run('echo from a package');
       console.log(stdout.text);
     } finally {
       await sandbox[Symbol.asyncDispose]();
     }`,
  );
  const { stdout, stderr } = await project.run(process.execPath, ['sandbox.mjs'], installation.environment);
  expect({ stdout, stderr }).toEqual({ stdout: 'from a package\n\n', stderr: '' });
  expect(await cli('ls', '--json')).toMatchObject({ code: 0, stderr: '' });
});

test('a worker without its optional dependency says what to install', async () => {
  expect(await cli('worker')).toMatchObject({
    code: 1,
    stderr:
      'Starting a worker: the package @temporalio/worker, an optional dependency of longshore, is not installed. Install longshore again without --omit=optional\n',
  });
});

test(
  "the README's lines run in JavaScript, and in strict TypeScript once compiled",
  async () => {
    await project.install();
    const example = (name: string) => readFile(join(ROOT, 'examples', name), 'utf8');
    await project.write('start.mjs', await example('start-a-conversation.mjs'));
    await project.write('start.ts', (await example('start-a-conversation.ts')).replace(`'../src/client.ts'`, `'longshore'`));
    const entries = ['sandbox', 'plugins', 'testing', 'maibot', 'nekro', 'pandora', 'agents', 'templates'];
    await project.write('entries.ts', entries.map((name) => `export * as ${name} from 'longshore/${name}';\n`).join(''));
    const options = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, module: 'nodenext', target: 'es2023', outDir: 'built' };
    const typeRoots = [join(ROOT, 'node_modules/@types')];
    await project.write('tsconfig.json', JSON.stringify({ compilerOptions: { ...options, typeRoots, types: ['node'] }, include: ['*.ts'] }));
    expect(await project.run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc')])).toEqual({ code: 0, stdout: '', stderr: '' });
    await withWorker(async () => {
      for (const file of ['start.mjs', 'built/start.js']) {
        expect(await project.run(process.execPath, [file], installation.environment)).toEqual({ code: 0, stdout: REPLY, stderr: '' });
      }
    });
  },
  LONG_MS,
);

test('a Nekro plugin is read by the parser of the package, and works as a program imports it', async () => {
  const source = `import { NekroPlugin, SandboxMethodType } from 'longshore/nekro';
const plugin = new NekroPlugin({ name: 'Sums', moduleName: 'sums', description: 'Adds', version: '1.0.0', author: 'me' });
plugin.mountSandboxMethod(SandboxMethodType.TOOL, 'calculate_sum')(async function my_sum(ctx, num1) {
  /** Adds.
   *
   * Args:
   *     num1 (int): The first one. */
  return num1;
});
export default plugin;`;
  const method = { id: 'my_sum', description: expect.stringMatching(/^Adds/) as string, parameters: { properties: { num1: { type: 'integer' } } } };
  await project.write('sums/index.mjs', source);
  await project.write('sums/package.json', '{ "main": "index.mjs" }');
  const checked = await cli('plugins', 'check', './sums', '--json');
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(checked.stdout)).toMatchObject({ problems: [], plugins: [{ id: 'sums', alerts: [], tools: [method] }] });
  await project.write('import.mjs', `import plugin from './sums/index.mjs'; console.log(JSON.stringify(plugin.tools));`);
  const imported = await project.run(process.execPath, ['import.mjs']);
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(imported.stdout)).toMatchObject([method]);
});
