import { runCommand } from '../../src/platform/run-command.ts';
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
  expect(
    (await chat.transcript()).some(
      ({ entry }) => entry.role === 'note' && entry.text.startsWith('The sandbox was started anew: its container was killed from outside (exit code 137): '),
    ),
  ).toBe(true);
  await chat.close();
}, 300_000);

test('container and files removed under a command, and its worker killed: the next worker says unknown and runs nothing again', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: 'echo started >> /home/user/log; echo half done; sleep 300', timeoutSeconds: 600 } },
    { call: 'shell:run', with: { command: 'cat /home/user/log || echo no log' }, expect: { exitCode: 0 } },
    { say: 'Over.' },
  ]);
  const first = installation.startWorker();
  await first.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('half done'));
  await first.kill();
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  await runCommand('docker', ['rm', '--force', row?.containerName ?? '']);
  expect((await runCommand('docker', ['volume', 'rm', row?.volumeName ?? ''])).code).toBe(0);
  await installation.startWorker().ready;
  expect(await chat.reply()).toBe('Over.');
  const [unknown, log] = await resultsOf(chat);
  expect(unknown?.['text']).toContain('It is not known whether this call took effect');
  expect(unknown?.['text']).toContain('files are gone');
  expect(log).toMatchObject({ stdout: 'no log\n' });
  await chat.close();
}, 300_000);
