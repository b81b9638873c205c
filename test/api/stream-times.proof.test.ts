import { promisify } from 'node:util';
import { until, type Installation } from '../e2e/support.ts';
import { framesOf, serveScript, type ServedInstallation, type TestApi } from './support.ts';
import { openStalledReader } from './support/stalled-reader.ts';

/** The times of streams as users have them: comments each 15 seconds, and the end of a stalled reader after a minute. */
const PIECES = 300;
/** A busy machine is late, and never early. */
const EARLY_MS = 500;
const LATE_MS = 5_000;

let served: ServedInstallation;
let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  served = await serveScript([{ say: 'Ahoy.' }]);
  ({ installation, service } = served);
}, 180_000);
afterAll(async () => {
  for (const { conversationId } of await installation.longshore.list()) await installation.longshore.close(conversationId);
  await served[Symbol.asyncDispose]();
}, 180_000);

test('comments come every 15 seconds while nothing happens', async () => {
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  const headers = { ...(await service.key()), accept: 'text/event-stream' };
  const leaving = new AbortController();
  const answer = await fetch(`${service.url}/v1/conversations/${id}/events`, { headers, signal: leaving.signal });
  const times: number[] = [];
  for await (const frame of framesOf(answer)) {
    if (frame === ': keep-alive\n\n') times.push(performance.now());
    if (times.length === 4) break;
  }
  leaving.abort();
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const gap of gaps) {
    expect(gap).toBeGreaterThan(15_000 - EARLY_MS);
    expect(gap).toBeLessThan(15_000 + LATE_MS);
  }
}, 180_000);

test('a reader that takes nothing is disconnected after a minute', async () => {
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  for (let piece = 0; piece < PIECES; piece += 10) {
    await installation.store.events.append(
      id,
      Array.from({ length: 10 }, () => ({ type: 'text.delta' as const, data: { text: 'x'.repeat(50_000) } })),
    );
  }
  const connections = promisify(service.api.server.getConnections.bind(service.api.server));
  await until(async () => (await connections()) === 0, 'the reader before it has gone');
  const began = performance.now();
  await openStalledReader(`${service.url}/v1/conversations/${id}/events`, await service.key());
  await until(async () => (await connections()) === 1, 'it is connected');
  await until(async () => (await connections()) === 0, 'it is disconnected');
  const tookMs = performance.now() - began;
  expect(tookMs).toBeGreaterThan(60_000 - EARLY_MS);
  expect(tookMs).toBeLessThan(60_000 + LATE_MS);
}, 180_000);
