import { install, until, type Installation } from '../e2e/support.ts';
import { serve, type Server } from './serve.ts';
import { framesOf, isEvent } from './support.ts';

const CONVERSATIONS = 10;
const MESSAGES = 12;
/** The first service is told to stop when so many messages have been answered. */
const STOP_AFTER = 30;

let installation: Installation;
let headers: Record<string, string>;
beforeAll(async () => {
  installation = await install([{ say: 'Noted.' }]);
  await installation.startWorker().ready;
  const { text } = await installation.longshore.keys.create({ name: 'load', scopes: ['conversations:read', 'conversations:write'] });
  headers = { authorization: `Bearer ${text}`, 'content-type': 'application/json' };
}, 180_000);
afterAll(async () => {
  for (const { conversationId } of await installation.longshore.list()) await installation.longshore.close(conversationId);
  await installation[Symbol.asyncDispose]();
}, 180_000);

test('a service that stops under load loses no message that it accepted, and a message that is repeated with its key is there once', async () => {
  const [first, second] = await Promise.all([serve(installation), serve(installation)]);
  const ids = await Promise.all(
    Array.from({ length: CONVERSATIONS }, async () => (await installation.longshore.start({ agent: 'scripted', user: 'user-1' })).id),
  );
  let [answered, repeated] = [0, 0];
  let stopped: Promise<number | null> | undefined;
  /** Sends until there is an answer of 2xx: first to the service that stops, then to the other. */
  const send = async (id: string, key: string) => {
    for (const { url } of [first, second, second, second]) {
      const answer = await fetch(`${url}/v1/conversations/${id}/messages`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body: JSON.stringify({ message: `${key};` }),
      }).catch(() => undefined);
      await answer?.text().catch(() => undefined);
      if (answer?.ok === true) return;
      repeated += 1;
    }
    throw new Error(`no service took ${key}`);
  };
  const sendAll = async (id: string, index: number) => {
    for (let number = 0; number < MESSAGES; number += 1) {
      await send(id, `m-${index}-${number}`);
      answered += 1;
      if (answered === STOP_AFTER) stopped = first.stop();
    }
  };
  await Promise.all(ids.map(sendAll));
  expect([answered, await stopped]).toEqual([CONVERSATIONS * MESSAGES, 0]);
  expect(repeated).toBeGreaterThan(0);
  for (const [index, id] of ids.entries()) {
    const timesOf = async () => {
      const said = JSON.stringify(await installation.longshore.transcript(id));
      return Array.from({ length: MESSAGES }, (_, number) => said.split(`m-${index}-${number};`).length - 1);
    };
    await until(async () => (await timesOf()).every((count) => count > 0), 'all messages are there');
    await until(async () => (await installation.longshore.status(id)).state === 'idle', 'all messages are answered');
    const times = await timesOf();
    expect([id, times]).toEqual([id, times.map(() => 1)]);
  }
  expect(await second.stop()).toBe(0);
}, 300_000);

test('while it stops, /readyz is 503 and requests are still answered; then streams end, and their readers go on at another process', async () => {
  const leaving = await serve(installation, { LONGSHORE_API_DRAIN: '3s' });
  const staying = await serve(installation);
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Ahoy.' });
  await installation.longshore.reply(id);
  const follow = ({ url }: Server, last: string) =>
    fetch(`${url}/v1/conversations/${id}/events`, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': last } });
  const stream = await follow(leaving, '0');
  const reading = (async () => {
    const frames: string[] = [];
    for await (const frame of framesOf(stream)) frames.push(frame);
    return frames;
  })();
  expect((await fetch(`${leaving.url}/readyz`)).status).toBe(200);
  const stopped = leaving.stop();
  const isReady = async () => (await fetch(`${leaving.url}/readyz`).catch(() => undefined))?.status;
  await until(async () => (await isReady()) === 503, 'it says that it is not ready');
  expect((await fetch(`${leaving.url}/v1/conversations/${id}`, { headers })).status).toBe(200);
  // The stream ends as an answer does, and is not cut.
  const frames = await reading;
  expect(frames[0]).toBe('retry: 1000\n\n');
  expect(await stopped).toBe(0);
  const last = /^id: (\d+)/.exec(frames.findLast(isEvent) ?? '')?.[1] ?? '';
  await installation.longshore.close(id);
  const rest: string[] = [];
  for await (const frame of framesOf(await follow(staying, last))) if (isEvent(frame)) rest.push(frame);
  const numbers = [...frames.filter(isEvent), ...rest].map((frame) => Number(/^id: (\d+)/.exec(frame)?.[1]));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(rest.at(-1)).toContain('"conversation.closed"');
  expect(await staying.stop()).toBe(0);
}, 180_000);
