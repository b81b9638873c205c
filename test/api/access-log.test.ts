import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { install, until, type Installation } from '../e2e/support.ts';
import { framesOf, startApi, type TestApi } from './support.ts';

/** In every place of a request that a caller fills. */
const CANARY = 'canary4711';

interface Line {
  level: number;
  msg: string;
  method?: string;
  route?: string;
  status?: number;
  broken?: true;
  ms?: number;
  bytes?: number;
  actor?: { kind: string; id: string };
  tenant?: string;
  request?: string;
}

let installation: Installation;
let service: TestApi;
let written = '';
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  await installation.startWorker().ready;
  service = await startApi(installation, {}, { log: pino({ level: 'trace' }, { write: (line: string) => void (written += line) }) });
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

const lines = (): Line[] =>
  written
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const accesses = () => lines().filter(({ msg }) => msg === 'request');

/** The line of the next request of this route. */
async function lineOf(route: string, ask: () => Promise<unknown>): Promise<Line> {
  const before = accesses().length;
  await ask();
  const found = () =>
    accesses()
      .slice(before)
      .filter((line) => line.route === route);
  await until(async () => found().length > 0, `the log has a line of ${route}`);
  expect(found()).toHaveLength(1);
  return found()[0]!;
}

test('each request has one line with its route, answer, time and caller', async () => {
  const key = await service.key(['conversations:read'], 'north');
  const [, keyId] = key.authorization.split('_');
  let problem: { request?: string } = {};
  const line = await lineOf('/v1/conversations/:id', async () => {
    problem = (await (await fetch(`${service.url}/v1/conversations/conv_none?x=1`, { headers: key })).json()) as typeof problem;
  });
  expect(line).toEqual({
    level: 30,
    time: expect.any(Number) as number,
    pid: process.pid,
    hostname: expect.any(String) as string,
    msg: 'request',
    method: 'GET',
    route: '/v1/conversations/:id',
    status: 404,
    ms: expect.any(Number) as number,
    bytes: expect.any(Number) as number,
    actor: { kind: 'key', id: keyId },
    tenant: 'north',
    request: problem.request,
  });
  expect(line.bytes).toBeGreaterThan(200);
  const refused = await lineOf('/v1/conversations', () => fetch(`${service.url}/v1/conversations`));
  expect([refused.status, refused.actor, refused.tenant]).toEqual([401, undefined, undefined]);
  expect((await lineOf('/healthz', () => fetch(`${service.url}/healthz`))).level).toBe(20);
});

test('a stream has one line, at its end, also when its reader breaks off', async () => {
  const key = await service.key();
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.' });
  await installation.longshore.reply(id);
  const headers = { ...key, accept: 'text/event-stream' };
  const route = '/v1/conversations/:id/events';
  let bytes = 0;
  const whole = await lineOf(route, async () => {
    const answer = await fetch(`${service.url}/v1/conversations/${id}/events?until=turn.finished`, { headers });
    bytes = (await answer.text()).length;
  });
  expect([whole.status, whole.broken, (whole.bytes ?? 0) > bytes]).toEqual([200, undefined, true]);
  const cut = await lineOf(route, async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${service.url}/v1/conversations/${id}/events`, { headers, signal: leaving.signal });
    await framesOf(answer).next();
    // It is open still.
    expect(accesses().filter((line) => line.route === route && line.request !== whole.request)).toEqual([]);
    leaving.abort();
  });
  expect([cut.status, cut.broken]).toEqual([200, true]);
  await installation.longshore.close(id);
});

/** Sends what no client of HTTP would send. */
async function sendRaw(head: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.end(Buffer.from(`${head}\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: ${CANARY}\t\x9b31m\x85\r\n\r\n`, 'latin1'));
  return text(socket);
}

test('the log has nothing of what callers send: no address, key, token, path, query, header or text', async () => {
  const key = await service.key(['admin']);
  const [, keyId = '', secret = ''] = key.authorization.split('_');
  const headers = { ...key, 'content-type': 'application/json', 'user-agent': CANARY, referer: `https://${CANARY}.example`, 'idempotency-key': CANARY };
  const post = (path: string, body: object) => fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const before = accesses().length;
  const start = await post('/v1/conversations?wait=30', { agent: 'scripted', user: `user-${CANARY}`, message: `Say ${CANARY}.` });
  const { conversationId: id } = (await start.json()) as { conversationId: string };
  await fetch(`${service.url}/v1/conversations?user=${CANARY}`, { headers });
  await fetch(`${service.url}/v1/conversations/${id}/files/${CANARY}.txt?info`, { headers });
  await fetch(`${service.url}/v1/conversations/${CANARY}`, { headers });
  await post(`/v1/conversations/${id}/download-links`, { path: CANARY });
  await fetch(`${service.url}/files/download/lsf_${CANARY}`);
  await fetch(`${service.url}/approve/lsl_${CANARY}`);
  await post(`/plugin-webhooks/lsw_${CANARY}`, { a: CANARY });
  await fetch(`${service.url}/oauth/sign-in/${CANARY}`);
  await fetch(`${service.url}/oauth/callback?state=${CANARY}&code=${CANARY}`, { headers: { cookie: `longshore_sign_in=${CANARY}` } });
  await fetch(`${service.url}/codec/${key.authorization.slice('Bearer '.length)}/decode`, { method: 'POST', headers, body: '{"payloads": []}' });
  await fetch(`${service.url}/${CANARY}`);
  await post('/v1/conversations', { agent: CANARY, user: 7 });
  const refused = await sendRaw(`GET /%zz${CANARY} HTTP/1.1`);
  for (const part of ['400 Bad Request', 'cache-control: no-store', 'x-content-type-options: nosniff']) expect(refused).toContain(part);
  expect(await sendRaw(`GET /healthz?${CANARY} HTTP/1.1`)).toContain('200 OK');
  expect(await sendRaw(CANARY)).toContain('400 Bad Request');
  await until(async () => accesses().length >= before + 15, 'all requests have their lines');
  expect(
    accesses()
      .slice(before)
      .map(({ route }) => route),
  ).toEqual([
    '/v1/conversations',
    '/v1/conversations',
    '/v1/conversations/:id/files/*',
    '/v1/conversations/:id',
    '/v1/conversations/:id/download-links',
    '/files/download/:token',
    '/approve/:token',
    '/plugin-webhooks/:token',
    '/oauth/sign-in/:link',
    '/oauth/callback',
    '/codec/decode',
    'none',
    '/v1/conversations',
    'none',
    '/healthz',
  ]);
  for (const sent of [CANARY, secret, 'Ahoy', id, '\\u009b', '\\u0085', '\x9b', '\t']) expect([sent, written.includes(sent)]).toEqual([sent, false]);
  expect(written).toContain(keyId);
  await installation.longshore.close(id);
});
