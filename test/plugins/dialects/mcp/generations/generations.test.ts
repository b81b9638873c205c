import { openSession, type Session } from '../../../../../src/plugins/dialects/mcp/connection/open-session.ts';
import { openTransport } from '../../../../../src/plugins/dialects/mcp/connection/open-transport.ts';
import type { McpProgram, McpRemote } from '../../../../../src/contracts/mcp/server.ts';
import type { Remembered } from '../../../../../src/plugins/dialects/mcp/connection/generation.ts';
import { serveNewer } from './newer-support.ts';
import { fixtureProgram, hostileProgram, serveFixture } from '../support.ts';

const ignore = () => undefined;
const HEARD = { toolsChanged: ignore, log: ignore, listChanged: ignore, problem: ignore };
const remoteOf = (url: string): McpRemote => ({ url, headers: {}, timeoutMs: 10_000 });

/** A connection, how many transports it took, and what is remembered after it. */
async function connected(server: McpProgram | McpRemote, remembered: Remembered = {}): Promise<{ session: Session; attempts: number; remembered: Remembered }> {
  let attempts = 0;
  const open = () => {
    attempts += 1;
    return openTransport('fix', server, () => undefined);
  };
  return { session: await openSession({ name: 'fix', remembered, signal: new AbortController().signal }, open, HEARD), attempts, remembered };
}

async function namesAt(session: Session): Promise<string[]> {
  const { tools } = await session.list();
  await session.close('the test is over');
  return tools.map((tool) => (tool as { name: string }).name);
}

test('a server that speaks both generations is talked to in the newer one, over one connection', async () => {
  await using served = await serveNewer();
  const { session, attempts, remembered } = await connected(remoteOf(served.url));
  expect(await namesAt(session)).toContain('era');
  expect([attempts, remembered.isOlder]).toEqual([1, false]);
  expect(served.requests.map(({ method }) => method)).toEqual(expect.arrayContaining(['server/discover', 'subscriptions/listen', 'tools/list']));
});

test('a server of the older generation is talked to over the connection that asked it, and is not asked again', async () => {
  const { session, attempts, remembered } = await connected(await fixtureProgram());
  expect(await namesAt(session)).toContain('count');
  expect([attempts, remembered.isOlder]).toEqual([1, true]);
  const bodies: string[] = [];
  await using served = await serveFixture(0, undefined, (_request, _response, body) => (bodies.push(body), false));
  const again = await connected(remoteOf(served.url), remembered);
  await again.session.close('the test is over');
  expect(bodies.some((body) => body.includes('server/discover'))).toBe(false);
});

test.each([
  ['ends', `on('server/discover', () => process.exit(1));`],
  ['is silent', `on('server/discover', () => undefined);`],
])('a program that %s when it is asked what it speaks is started again and greeted', async (_how, script) => {
  const { session, attempts, remembered } = await connected(hostileProgram(script));
  expect(await namesAt(session)).toEqual(['go']);
  expect([attempts, remembered.isOlder]).toEqual([2, true]);
});

test('a server that fails when it is asked what it speaks is greeted', async () => {
  await using served = await serveFixture(0, undefined, (_request, response, body) => {
    if (!body.includes('server/discover')) return false;
    response.writeHead(500).end('out of order');
    return true;
  });
  const { session, attempts } = await connected(remoteOf(served.url));
  expect(await namesAt(session)).toContain('count');
  expect(attempts).toBe(2);
});

test('what is remembered is forgotten with a connection that fails because of it', async () => {
  await using served = await serveNewer({ legacy: 'reject' });
  const remembered: Remembered = { isOlder: true };
  await expect(connected(remoteOf(served.url), remembered)).rejects.toThrow('2026-07-28');
  expect(remembered.isOlder).toBe(false);
  const { session } = await connected(remoteOf(served.url), remembered);
  expect(await namesAt(session)).toContain('era');
});

test('a call whose server has asked for input is not begun anew at one that speaks the older generation now', async () => {
  const { session } = await connected(await fixtureProgram());
  const rounds = { open: async () => ({ asks: {}, before: 0, asked: 0 }), keep: async () => undefined, forget: async () => undefined };
  const calling = session.call(
    { method: 'tools/call', params: { name: 'count', arguments: {} } },
    { signal: new AbortController().signal, timeoutMs: 5_000, rounds },
  );
  await expect(calling).rejects.toThrow('does not speak the revision of the protocol any more in which it did: it is not known whether the call took effect');
  await session.close('the test is over');
});
