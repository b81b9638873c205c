import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { agentSchema } from '../../src/definitions/agents/agent-schema.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents, until } from '../e2e/support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLE = 'examples/start-a-conversation.ts';
const JAVASCRIPT = 'examples/start-a-conversation.mjs';

const readme = () => readFile(join(ROOT, 'README.md'), 'utf8');

/** The first fenced block after a text. */
function blockAfter(text: string, mark: string): string {
  const [, block = ''] = /^```\w*\n(.*?)^```/ms.exec(text.slice(text.indexOf(mark))) ?? [];
  return block;
}

test('the example of the README is the file that is run here', async () => {
  const file = await readFile(join(ROOT, EXAMPLE), 'utf8');
  expect(blockAfter(await readme(), `<!-- example: ${EXAMPLE} -->`)).toBe(file.replace(`'../src/client.ts'`, `'longshore'`));
});

test('so is the one in JavaScript, which runs from the installed package in test/package', async () => {
  expect(blockAfter(await readme(), `<!-- example: ${JAVASCRIPT} -->`)).toBe(await readFile(join(ROOT, JAVASCRIPT), 'utf8'));
});

test('the example starts a conversation, prints its reply and closes it', async () => {
  await using installation = await installAgents({
    fixer: {
      steps: [
        { say: 'I run the tests first.', call: 'shell:run', with: { command: 'echo 1 failed' }, expect: { stdout: '/1 failed/' } },
        { say: 'The test is fixed.' },
      ],
    },
  });
  await installation.startWorker().ready;
  const environment = Object.fromEntries(Object.entries(installation.environment).map(([name, value]) => [name, value ?? '']));
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--import', 'tsx', EXAMPLE], { cwd: ROOT, env: environment });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'The test is fixed.\n', stderr: '' });
  const [row] = await installation.longshore.list();
  expect(row).toMatchObject({ agentId: 'fixer', userId: 'user-42' });
  await until(async () => (await installation.longshore.status(row?.conversationId ?? '')).state === 'closed', 'it is closed');
  expect(await installation.containers()).toEqual([]);
});

test('the agent of the README is one', async () => {
  const agent = agentSchema.parse(parse(blockAfter(await readme(), '`agents/fixer.yaml`:')));
  expect(agent.id).toBe('fixer');
});
