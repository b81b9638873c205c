import { install, until } from '../support.ts';

const WRITES = [{ call: 'shell:run', with: { command: 'echo one > file' }, expect: { exitCode: 0 } }, { say: 'Done.' }];

test('the end of a turn is followed by a backup, which a sandbox that is frozen by then is woken for, and rests again', async () => {
  await using installation = await install(WRITES, { sandbox: { backup: 'turn', idle: { freeze: '1ms' } } });
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Write.' });
  expect(await chat.reply()).toBe('Done.');
  await until(async () => {
    const { backup } = await chat.status();
    return backup?.at !== undefined && backup.due === undefined;
  }, 'the turn is backed up');
  expect((await chat.status()).backup).toEqual({ at: expect.any(String), files: expect.any(Number), bytes: expect.any(Number) });
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'the sandbox rests again');
  await chat.close();
  await until(async () => (await installation.store.blobs.list()).length === 0, 'the backup is gone with its sandbox');
}, 180_000);

test('a blob store that fails does not fail a turn: the status says it, and the backup is made when the store is back', async () => {
  await using installation = await install(WRITES, { sandbox: { backup: 'turn' } });
  const first = installation.startWorker({ LONGSHORE_BLOBS: 'file:///etc/passwd/blobs' });
  await first.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Write.' });
  expect(await chat.reply()).toBe('Done.');
  await until(async () => (await chat.status()).backup?.failing === true, 'the failure is said');
  expect((await chat.status()).backup).toEqual({ due: true, failing: true });
  expect((await chat.status()).lastTurn).toMatchObject({ outcome: 'finished' });
  await first.stop();
  await installation.startWorker().ready;
  await until(async () => (await chat.status()).backup?.at !== undefined, 'the backup is made');
  expect((await chat.status()).backup).not.toHaveProperty('failing');
  await chat.close();
}, 180_000);
