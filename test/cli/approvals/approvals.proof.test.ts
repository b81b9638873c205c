import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installAgents, textIn, untilEvent, type Installation } from '../../e2e/support.ts';
import { runLine } from '../support.ts';

const usage = { inputTokens: 10, outputTokens: 10 };
const steps = [
  { call: 'shell:run', with: { command: 'echo one' }, usage },
  { call: 'shell:run', with: { command: 'rm two' }, usage },
  { say: 'Done.', usage },
];

let installation: Installation;
beforeAll(async () => {
  installation = await installAgents({ keeper: { approval: [{ tool: 'shell:run', decide: 'ask' }], tools: ['shell:*'], steps } });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const run = (...args: string[]) => runLine(undefined, ['approvals', ...args], { environment: installation.environment });

test('the inbox lists the calls that wait, oldest first, and past decisions are scored against rules and judge', async () => {
  const start = (user: string) => installation.longshore.start({ agent: 'keeper', user, message: 'Tidy up.' });
  const asked = ({ type }: { type: string }) => type === 'tool.approval-requested';
  const first = await start('ann');
  await untilEvent(first, asked);
  const second = await start('bob');
  await untilEvent(second, asked);
  const inbox = await run('ls');
  expect(inbox).toMatchObject({ code: 0, err: '' });
  const lines = inbox.out.trim().split('\n');
  expect(lines.map((line) => line.split(/ {2,}/)[1])).toEqual(['CONVERSATION', first.id, second.id]);
  expect(JSON.parse((await run('ls', '--user', 'bob', '--tool', 'shell:*', '--json')).out)).toMatchObject([
    { conversationId: second.id, agent: 'keeper', user: 'bob', approval: { tool: 'shell:run', arguments: { command: 'echo one' } } },
  ]);
  expect((await run('ls', '--tool', 'files:*')).out).toBe('No call waits for a person.\n');

  const [one] = (await first.status()).pendingApprovals;
  await first.approve({ callId: one?.callId ?? '', answer: 'allow-once' });
  const two = await untilEvent(first, ({ type, data }) => type === 'tool.approval-requested' && JSON.stringify(data['arguments']).includes('rm two'));
  await first.approve({ callId: textIn(two.data, 'callId'), answer: 'deny' });
  expect(await first.reply()).toBe('Done.');

  const before = await run('replay', 'keeper');
  expect(before.out).toMatch(/^2 decisions of people about calls of keeper: 1 allowed, 1 denied\.\n/);
  expect(before.out).toMatch(/^rules ask +1 +1$/m);
  expect(before.out).not.toContain('Denied by a person, and allowed now');

  const directory = installation.environment['LONGSHORE_AGENTS'] ?? '';
  const file = join(directory, 'keeper.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(
    join(directory, 'scripts', 'judge.yaml'),
    `steps:\n  - say: '{"verdict": "allow", "confidence": 0.9, "reason": "It tidies up."}'\n    usage: { inputTokens: 5, outputTokens: 2 }\n`,
  );
  await writeFile(file, text.replace('decide: ask', 'decide: auto'));
  await appendFile(file, 'judge: { model: scripted/scripts/judge.yaml }\n');
  const after = await run('replay', 'keeper', '--judge');
  expect(after).toMatchObject({ code: 0, err: '' });
  expect(after.out).toMatch(/^rules leave to the judge +1 +1$/m);
  expect(after.out).toMatch(/^ +judge allows +1 +1$/m);
  expect(after.out).toContain(`Denied by a person, and allowed now:\n  ${textIn(two.data, 'callId')} shell:run  $ rm two\n    the judge: It tidies up.\n`);
  expect(after.out).toContain('The judge used 14 tokens');
  const { decisions } = JSON.parse((await run('replay', 'keeper', '--json')).out) as { decisions: object[] };
  expect(decisions).toMatchObject([
    { answer: 'deny', arguments: { command: 'rm two' }, rules: 'auto' },
    { answer: 'allow', arguments: { command: 'echo one' }, rules: 'auto' },
  ]);
  expect((await run('replay', 'nobody')).err).toContain('No agent named "nobody"');
  await Promise.all([first.close(), second.close()]);
});
