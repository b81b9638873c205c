import { setTimeout as pause } from 'node:timers/promises';
import type { Chat } from '../../../src/client.ts';
import { install, type Installation } from '../support.ts';

/** A fork gets its files once, whenever the worker that copies them dies, and its source goes on. */
const MOMENTS_MS = [0, 400];

let installation: Installation;
const write = (text: string) => `sort -u notes many/* 2>/dev/null; echo ${text} > notes; mkdir -p many; for i in $(seq 2000); do echo ${text} > many/$i; done`;
const shell = (command: string) => ({ call: 'shell:run', with: { command } });

beforeAll(async () => {
  const steps = [shell(write('one')), { say: 'First.' }, shell(write('two')), { say: 'Second.' }, shell(write('three')), { say: 'Third.' }];
  installation = await install(steps, { checkpoints: 'turn' });
}, 180_000);
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

async function lastOutput(chat: Chat): Promise<unknown> {
  const result = (await chat.transcript()).findLast(({ entry }) => entry.role === 'tool')?.entry;
  const [part] = result?.role === 'tool' ? result.content : [];
  return part?.type === 'text' ? (JSON.parse(part.text) as unknown) : undefined;
}
async function say(chat: Chat): Promise<string> {
  const { turnId } = await chat.send('More.');
  return chat.reply(turnId);
}

test.each(MOMENTS_MS)(
  'a worker is killed %i ms after two forks began, one at a checkpoint and one of the newest state',
  async (moment) => {
    const worker = installation.startWorker();
    await worker.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Go.' });
    await chat.reply();
    await say(chat);
    const [first] = await chat.checkpoints();
    const old = await chat.fork({ at: first?.checkpointId ?? '' });
    const newest = await chat.fork();
    await pause(moment);
    await worker.kill();
    const next = installation.startWorker();
    await next.ready;
    expect(await say(old)).toBe('Second.');
    expect(await lastOutput(old)).toMatchObject({ stdout: 'one\n' });
    expect(await say(newest)).toBe('Third.');
    expect(await lastOutput(newest)).toMatchObject({ stdout: 'two\n' });
    expect(await say(chat)).toBe('Third.');
    expect(await lastOutput(chat)).toMatchObject({ stdout: 'two\n' });
    for (const fork of [old, newest]) {
      const ready: string[] = [];
      await fork.close();
      for await (const { type } of fork.events()) if (type.startsWith('fork.')) ready.push(type);
      expect(ready).toEqual(['fork.ready']);
    }
    const forked: string[] = [];
    await chat.close();
    for await (const { type } of chat.events()) if (type === 'conversation.forked') forked.push(type);
    expect(forked.length).toBe(2);
    await next.stop();
  },
  180_000,
);
