import { frameOf } from '../../src/api/stream/event-frames.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import { install } from '../e2e/support.ts';
import { serve, type Server } from './serve.ts';
import { framesOf, isEvent } from './support.ts';

const KILLS = 100;
/** Goes on for longer than the kills take. */
const COUNT = 'for i in $(seq 100000); do echo "line $i"; sleep 0.01; done';

test(`a reader whose service is killed ${KILLS} times in mid-stream has each event once, byte for byte as in the log`, async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: COUNT, timeoutSeconds: 900 }, expect: { exitCode: 0 } },
    { say: 'Counted.' },
  ]);
  await installation.startWorker().ready;
  const { text } = await installation.longshore.keys.create({ name: 'reader', scopes: ['conversations:read'] });
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Count.', closeWhenDone: true });
  const frames: string[] = [];
  let cut = 0;
  const last = () => /^id: (\d+)/.exec(frames.at(-1) ?? '')?.[1] ?? '0';
  const read = async ({ url }: Server) => {
    const answer = await fetch(`${url}/v1/conversations/${chat.id}/events`, {
      headers: { authorization: `Bearer ${text}`, accept: 'text/event-stream', 'last-event-id': last() },
    });
    for await (const frame of framesOf(answer)) if (isEvent(frame)) frames.push(frame);
  };
  let next = serve(installation);
  for (let kills = 0; kills < KILLS; kills += 1) {
    const server = await next;
    next = serve(installation);
    const reading = read(server).catch(() => (cut += 1));
    // A kill can come before the first byte, within a frame, or after some.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
    await server.kill();
    await reading;
  }
  const final = await next;
  await installation.longshore.interrupt(chat);
  await read(final);
  await final.kill();
  const log: ConversationEvent[] = [];
  for (let page = await installation.store.events.read(chat.id, 0); page.length > 0; page = await installation.store.events.read(chat.id, log.at(-1)!.seq))
    log.push(...page);
  expect(frames.join('')).toBe(log.map((event) => frameOf(event).text).join(''));
  expect(cut).toBe(KILLS);
  expect(log.at(-1)?.type).toBe('conversation.closed');
}, 900_000);
