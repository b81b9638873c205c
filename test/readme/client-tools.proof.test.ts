import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents } from '../e2e/support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = [
  { example: 'examples/client-tools.ts', agent: 'librarian', prints: 'opens src/main.ts\nThe entry of the program is open in your editor.\n' },
  { example: 'examples/requested-tools.ts', agent: 'steward', prints: 'shows harbour\nThe harbour is on your map.\n' },
];

test.each(EXAMPLES)('$example is printed in the guide about client tools', async ({ example }) => {
  const [file, guide] = await Promise.all([example, 'docs/guides/client-tools.md'].map((path) => readFile(join(ROOT, path), 'utf8')));
  const [, block] = /^```ts\n(.*?)^```/ms.exec(guide?.slice(guide.indexOf(`<!-- example: ${example} -->`)) ?? '') ?? [];
  expect(block).toBe(file?.replace(`'../src/client.ts'`, `'longshore'`));
});

test.each(EXAMPLES)(
  'with the agent of the examples, which needs no key, $example runs the tool and prints the reply',
  async ({ example, agent, prints }) => {
    await using installation = await installAgents({});
    const { LONGSHORE_AGENTS: agents = '' } = installation.environment;
    for (const path of [`${agent}.yaml`, `scripts/${agent}.yaml`]) await copyFile(join(ROOT, 'examples/agents', path), join(agents, path));
    await installation.startWorker().ready;
    const environment = Object.fromEntries(Object.entries(installation.environment).map(([name, value]) => [name, value ?? '']));
    const { code, stdout, stderr } = await runCommand(process.execPath, ['--import', 'tsx', example], { cwd: ROOT, env: environment });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: prints, stderr: '' });
  },
  120_000,
);
