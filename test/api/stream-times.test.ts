import { promisify } from 'node:util';
import { until, type Installation } from '../e2e/support.ts';
import { framesOf, isEvent, serveScript, type ServedInstallation, type TestApi } from './support.ts';
import { openStalledReader } from './support/stalled-reader.ts';

/** The proof beside this file waits for the times that users have. */
const TIMES = { heartbeatMs: 200, stalledMs: 1_000 };
/** More than the connection itself takes. */
const PIECES = 300;
const PIECE = 'x'.repeat(50_000);

let served: ServedInstallation;
let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  served = await serveScript([{ say: 'Ahoy.' }], { times: TIMES });
  ({ installation, service } = served);
}, 180_000);
afterAll(async () => {
  for (const { conversationId } of await installation.longshore.list()) await installation.longshore.close(conversationId);
  await served[Symbol.asyncDispose]();
}, 180_000);

test('while nothing happens, comments come at the interval', async () => {
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  const headers = { ...(await service.key()), accept: 'text/event-stream' };
  const leaving = new AbortController();
  const answer = await fetch(`${service.url}/v1/conversations/${id}/events`, { headers, signal: leaving.signal });
  const began = performance.now();
  let comments = 0;
  for await (const frame of framesOf(answer)) {
    if (frame === ': keep-alive\n\n') comments += 1;
    if (comments === 5) break;
  }
  leaving.abort();
  expect(performance.now() - began).toBeGreaterThan(4 * TIMES.heartbeatMs - 50);
});

test('a reader that takes nothing is disconnected, and finds the rest when it comes again', async () => {
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  for (let piece = 0; piece < PIECES; piece += 10) {
    await installation.store.events.append(
      id,
      Array.from({ length: 10 }, () => ({ type: 'text.delta' as const, data: { text: PIECE } })),
    );
  }
  const url = `${service.url}/v1/conversations/${id}/events`;
  const headers = await service.key();
  const connections = promisify(service.api.server.getConnections.bind(service.api.server));
  await until(async () => (await connections()) === 0, 'the reader before it has gone');
  const reader = await openStalledReader(url, headers);
  await until(async () => (await connections()) === 1, 'it is connected');
  await until(async () => (await connections()) === 0, 'it is disconnected');
  const first = (await reader.readOn()).filter(isEvent);
  expect(first.length).toBeLessThan(PIECES);
  await installation.longshore.close(id);
  const last = /^id: (\d+)/.exec(first.at(-1) ?? '')?.[1] ?? '0';
  const rest: string[] = [];
  const answer = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': last } });
  for await (const frame of framesOf(answer)) if (isEvent(frame)) rest.push(frame);
  const numbers = [...first, ...rest].map((frame) => Number(/^id: (\d+)/.exec(frame)?.[1]));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(rest.at(-1)).toContain('"conversation.closed"');
}, 180_000);
