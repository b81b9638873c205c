import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents } from '../e2e/support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLE = 'examples/fork.ts';

test('the example of the guide about forks is the file that is run here', async () => {
  const [file, guide] = await Promise.all([EXAMPLE, 'docs/guides/fork.md'].map((path) => readFile(join(ROOT, path), 'utf8')));
  const [, block] = /^```ts\n(.*?)^```/ms.exec(guide?.slice(guide.indexOf(`<!-- example: ${EXAMPLE} -->`)) ?? '') ?? [];
  expect(block).toBe(file?.replace(`'../src/client.ts'`, `'longshore'`));
});

test('with the agent of the examples, which needs no key, both forks answer', async () => {
  await using installation = await installAgents({});
  const { LONGSHORE_AGENTS: agents = '' } = installation.environment;
  for (const path of ['notekeeper.yaml', 'scripts/notekeeper.yaml']) await copyFile(join(ROOT, 'examples/agents', path), join(agents, path));
  await installation.startWorker().ready;
  const environment = Object.fromEntries(Object.entries(installation.environment).map(([name, value]) => [name, value ?? '']));
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--import', 'tsx', EXAMPLE], { cwd: ROOT, env: environment });
  const said = 'I have written down the time.\n';
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${said}${said}2 forks\n`, stderr: '' });
}, 120_000);
