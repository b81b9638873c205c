import { promisify } from 'node:util';
import { install, until, type Installation } from '../e2e/support.ts';
import { statusOf } from '../store/support.ts';
import { attack } from './attack/connections.ts';
import { startApi, type TestApi } from './support.ts';

/** The proof of attacks has more of each, against a service of its own. */
const TOTAL = 150;

let installation: Installation;
let service: TestApi;
let authorization: string;
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  service = await startApi(installation, { connections: { total: TOTAL, perAddress: Infinity } });
  ({ authorization } = await service.key(['admin']));
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${authorization}`, 'Content-Type: application/json', ...headers, '', ''].join('\r\n');
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

test('a connection without a request is closed for one with a request, the oldest first', async () => {
  const silent = await attack(service.url, TOTAL, () => undefined);
  const asking = await attack(service.url, 3, (socket) => socket.write(head('GET', '/v1/conversations', 'Connection: close')));
  await asking.closed;
  expect(asking.answers.flatMap(statusesIn)).toEqual([200, 200, 200]);
  await until(async () => silent.sockets.filter(({ destroyed }) => destroyed).length === 3, 'three have given way');
  expect(silent.sockets.slice(0, 3).every(({ destroyed }) => destroyed)).toBe(true);
  silent.end();
  await silent.closed;
});

test('a service that stops does not wait for connections that have sent nothing', async () => {
  const other = await startApi(installation);
  const unused = await attack(other.url, 2, () => undefined);
  await until(async () => (await promisify(other.api.server.getConnections.bind(other.api.server))()) === 2, 'the service has them');
  const began = performance.now();
  await other[Symbol.asyncDispose]();
  await unused.closed;
  expect(performance.now() - began).toBeLessThan(15_000);
});

test('connections of one address are limited by themselves', async () => {
  await using other = await startApi(installation, { connections: { total: TOTAL, perAddress: 2 } });
  const held = await attack(other.url, 2, () => undefined);
  const asking = await attack(other.url, 1, (socket) => socket.write(head('GET', '/v1/conversations', 'Connection: close')));
  await asking.closed;
  expect(asking.answers.flatMap(statusesIn)).toEqual([200]);
  await until(async () => held.sockets[0]?.destroyed === true, 'the first has given way');
  expect(held.sockets[1]?.destroyed).toBe(false);
  held.end();
});

test('requests that are sent behind one another are answered in their order; too many of them end the connection', async () => {
  const [some, many] = [
    head('GET', '/v1/conversations') + head('GET', '/nowhere') + head('GET', '/healthz', 'Connection: close'),
    head('GET', '/healthz').repeat(1_000),
  ];
  const asking = await attack(service.url, 1, (socket) => socket.write(some));
  await asking.closed;
  expect(statusesIn(asking.answers[0] ?? '')).toEqual([200, 404, 200]);
  const flooding = await attack(service.url, 1, (socket) => socket.write(many));
  await flooding.closed;
  expect(statusesIn(flooding.answers[0] ?? '').length).toBeLessThan(1_000);
});

test('streams behind one another on one connection end with it', async () => {
  const idle = statusOf('conv_followed');
  await installation.store.conversations.create({ ...idle, status: idle });
  const open = async () => {
    const answer = await fetch(`${service.url}/metrics`, { headers: { authorization } });
    return Number(/^longshore_api_open_streams (\d+)/m.exec(await answer.text())?.[1]);
  };
  const stream = head('GET', `/v1/conversations/conv_followed/events`, 'Accept: text/event-stream');
  const readers = await attack(service.url, 1, (socket) => socket.write(stream.repeat(10)));
  await until(async () => (await open()) === 1, 'one is open');
  readers.end();
  await until(async () => (await open()) === 0, 'none is open');
});

test('a key may send 100 bodies at the same time; one more is refused', async () => {
  const slow = await attack(service.url, 101, (socket) => socket.write(`${head('POST', '/v1/conversations', 'Content-Length: 100')}{`));
  const refused = () => slow.answers.filter((answer) => answer !== '');
  await until(async () => refused().length > 0, 'one of them is refused');
  expect(refused()).toEqual([expect.stringContaining('"UPLOAD_LIMIT"')]);
  slow.end();
  await slow.closed;
});

test('the bodies that a key sends at the same time have 300 MB together; one more is refused', async () => {
  const slow = await attack(service.url, 11, (socket) => socket.write(`${head('POST', '/v1/conversations', 'Content-Length: 30000000')}{`));
  const refused = () => slow.answers.filter((answer) => answer !== '');
  await until(async () => refused().length > 0, 'one of them is refused');
  expect(refused()).toEqual([expect.stringMatching(/is sending 300000000 bytes of request bodies/)]);
  slow.end();
  await slow.closed;
});

test('a body that is too large is refused, and its sender can read why', async () => {
  const body = JSON.stringify({ agent: 'scripted', user: 'user-1', message: 'x'.repeat(31_000_000) });
  const answer = await fetch(`${service.url}/v1/conversations`, { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body });
  expect([answer.status, await answer.json()]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }]);
});
