import { runCommand } from '../../src/dev/run-command.ts';
import { install, resultsOf, untilEvent } from './support.ts';

test('a container killed under a command: the model and the events say unknown, and nothing is run again', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: 'echo started >> /home/user/log; echo half done; sleep 300', timeoutSeconds: 600 } },
    { call: 'shell:run', with: { command: 'cat /home/user/log' }, expect: { exitCode: 0 } },
    { say: 'Over.' },
  ]);
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('half done'));
  const [container = ''] = await installation.containers();
  await runCommand('docker', ['kill', container]);
  expect(await chat.reply()).toBe('Over.');
  const unknown = await untilEvent(chat, ({ type }) => type === 'tool.unknown');
  expect(unknown.data['why']).toContain('container died');
  const [first, second] = await resultsOf(chat);
  expect(first).toMatchObject({ isError: true });
  expect(first?.['text']).toContain('It is not known whether this call took effect');
  expect(first?.['text']).toContain('half done');
  expect(second).toMatchObject({ stdout: 'started\n' });
  expect((await chat.transcript()).some(({ entry }) => entry.role === 'note' && entry.text.includes('rebuilt'))).toBe(true);
  await chat.close();
}, 120_000);
