import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents } from '../e2e/support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SAID = 'I have written down the time.\n';
const EXAMPLES = [
  ['examples/fork.ts', 'docs/guides/fork.md', `${SAID}${SAID}2 forks\n`],
  ['examples/import.ts', 'docs/guides/export.md', `4 entries\n${SAID}`],
] as const;

test.each(EXAMPLES)('%s is what %s has', async (example, guide) => {
  const [file, text] = await Promise.all([example, guide].map((path) => readFile(join(ROOT, path), 'utf8')));
  const [, block] = /^```ts\n(.*?)^```/ms.exec(text?.slice(text.indexOf(`<!-- example: ${example} -->`)) ?? '') ?? [];
  expect(block).toBe(file?.replace(`'../src/client.ts'`, `'longshore'`));
});

test('with the agent of the examples, which needs no key, they print what is expected', async () => {
  await using installation = await installAgents({});
  const { LONGSHORE_AGENTS: agents = '' } = installation.environment;
  for (const path of ['notekeeper.yaml', 'scripts/notekeeper.yaml']) await copyFile(join(ROOT, 'examples/agents', path), join(agents, path));
  await installation.startWorker().ready;
  const env = Object.fromEntries(Object.entries(installation.environment).map(([name, value]) => [name, value ?? '']));
  const directory = await mkdtemp(join(tmpdir(), 'longshore-example-'));
  try {
    for (const [example, , expected] of EXAMPLES) {
      const argument = [join(directory, 'file')];
      const { code, stdout, stderr } = await runCommand(process.execPath, ['--import', 'tsx', example, ...argument], { cwd: ROOT, env });
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expected, stderr: '' });
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}, 180_000);
