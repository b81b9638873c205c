import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install, until } from './support.ts';

test('a worker keeps the sandboxes of a template warm: they outlive a killed worker, and a conversation takes one over', async () => {
  const templates = await mkdtemp(join(tmpdir(), 'longshore-templates-'));
  process.env['LONGSHORE_TEMPLATES'] = templates;
  try {
    await writeFile(join(templates, 'small.yaml'), 'memoryMb: 200\npool: 1\n');
    const steps = [{ call: 'shell:run', with: { command: 'echo in a warm one' }, expect: { stdout: 'in a warm one\n' } }, { say: 'Done.' }];
    await using installation = await install(steps, { sandbox: { template: 'small' } });
    const { store, longshore } = installation;
    const waiting = async () => (await store.sandboxes.list({ states: ['warm'] })).map(({ sandboxId }) => sandboxId);
    const killed = installation.startWorker();
    await until(async () => (await waiting()).length === 1, 'a sandbox is warm');
    const [warm] = await waiting();
    await killed.kill();
    const worker = installation.startWorker();
    await worker.ready;
    const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Hi' });
    expect(await chat.reply()).toBe('Done.');
    expect(await store.sandboxes.ofConversation(chat.id)).toMatchObject({ sandboxId: warm, options: { template: 'small', memoryMb: 200 } });
    await until(async () => (await waiting()).length === 1, 'the pool is full again');
  } finally {
    delete process.env['LONGSHORE_TEMPLATES'];
    await rm(templates, { recursive: true });
  }
}, 400_000);
