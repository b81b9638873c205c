import { setTimeout as pause } from 'node:timers/promises';
import type { Chat } from '../../../src/client.ts';
import { install, type Installation } from '../support.ts';

/** A rewind is done once, whenever the worker that does it dies. */
const MOMENTS_MS = [0, 60, 250, 500];

let installation: Installation;
const write = (text: string) => `echo ${text} > notes; mkdir -p many; for i in $(seq 2000); do echo ${text} > many/$i; done`;
const shell = (command: string) => ({ call: 'shell:run', with: { command } });

beforeAll(async () => {
  const steps = [shell(write('one')), { say: 'First.' }, shell(`sort -u notes many/*; ${write('two')}`), { say: 'Second.' }];
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

test.each(MOMENTS_MS)(
  'a worker is killed %i ms after the rewind began',
  async (moment) => {
    const worker = installation.startWorker();
    await worker.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Go.' });
    await chat.reply();
    const { turnId } = await chat.send('More.');
    await chat.reply(turnId);
    const checkpointId = (await chat.checkpoints()).at(0)?.checkpointId ?? '';
    const rewound = chat.rewind(checkpointId);
    await pause(moment);
    await worker.kill();
    const next = installation.startWorker();
    await next.ready;
    expect(await rewound).toMatchObject({ checkpointId, failed: 0 });
    const again = await chat.send('More.');
    await chat.reply(again.turnId);
    expect(await lastOutput(chat)).toMatchObject({ stdout: 'one\n' });
    const done: string[] = [];
    for await (const { type } of chat.events()) {
      if (type === 'conversation.rewound') done.push(type);
      if (type === 'turn.finished' && done.length > 0) break;
    }
    expect(done).toEqual(['conversation.rewound']);
    // The two of the first turns, the state before the rewind, and that of the last turn.
    expect((await chat.checkpoints()).length).toBe(4);
    await chat.close();
    await next.stop();
  },
  180_000,
);
