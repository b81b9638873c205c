import type { McpRemote } from '../../src/contracts/mcp/server.ts';
import type { McpWorkerOAuth } from '../../src/contracts/mcp/oauth.ts';
import { createAuthorizedFetch } from '../../src/oauth/authorized-fetch.ts';
import { createWorkerTokens } from '../../src/oauth/worker-tokens.ts';
import { call, openBench } from '../plugins/dialects/mcp/support.ts';
import { startAuthorizationServer } from './authorization-server.ts';
import { serveProtected } from './protected-server.ts';

const described = (url: string, oauth: McpWorkerOAuth): McpRemote => ({ url, headers: {}, timeoutMs: 10_000, oauth });

test('a worker with credentials of its own gets a token, and another one when that has ended, without a person', async () => {
  await using authorization = await startAuthorizationServer();
  await using server = await serveProtected(authorization);
  const oauth = { as: 'worker', clientId: 'worker', clientSecret: '${env.SECRET}', issuer: authorization.url, scope: 'notes' } as const;
  await using bench = await openBench(described(server.url, oauth), { SECRET: 'worker-secret' });
  expect(await call(bench, 'file')).toBe('filed for worker');
  authorization.expire();
  expect(await Promise.all([call(bench, 'file'), call(bench, 'file')])).toEqual(['filed for worker', 'filed for worker']);
  expect(authorization.asked).toEqual(['token:client_credentials', 'token:client_credentials']);
  expect(authorization.last['token']).toEqual({ grant_type: 'client_credentials', scope: 'notes', resource: server.url });
});

test('credentials that are refused are a problem of the server, and are not repeated in it', async () => {
  await using authorization = await startAuthorizationServer();
  await using server = await serveProtected(authorization);
  const oauth = { as: 'worker', clientId: 'worker', clientSecret: 'wrong-secret', issuer: authorization.url } as const;
  await using bench = await openBench(described(server.url, oauth));
  expect(bench.plugin().problem).toBe(
    'The server cannot be used: the MCP server fix asks for a token, and none is issued: the authorization server answers "invalid_client"; it is tried again',
  );
  expect(bench.logged.join('\n')).not.toContain('wrong-secret');
});

test('a token that no request can carry is a problem of the server, and is not repeated in it', async () => {
  await using authorization = await startAuthorizationServer();
  await using server = await serveProtected(authorization);
  authorization.fail = { status: 200, body: JSON.stringify({ access_token: 'canary-\u00e9\n', token_type: 'Bearer' }) };
  const oauth = { as: 'worker', clientId: 'worker', clientSecret: 'worker-secret', issuer: authorization.url } as const;
  await using bench = await openBench(described(server.url, oauth));
  expect(bench.plugin().problem).toBe(
    'The server cannot be used: the MCP server fix asks for a token, and none is issued: the authorization server gives a token that cannot be sent; it is tried again',
  );
  expect(bench.logged.join('\n')).not.toContain('canary');
});

test('a server that is not reached over https gets no token, unless it is on this machine', async () => {
  const oauth = { as: 'worker', clientId: 'worker', clientSecret: 'secret', issuer: 'https://auth.example' } as const;
  await using bench = await openBench(described('http://desk.example/mcp', oauth));
  expect(bench.plugin().problem).toBe('The server cannot be used: its url has to begin with https, since tokens are sent to it; it is tried again');
});

test('a server of which nobody has said that users sign in at it says how to do that', async () => {
  await using authorization = await startAuthorizationServer();
  await using server = await serveProtected(authorization);
  await using bench = await openBench({ url: server.url, headers: {}, timeoutMs: 10_000 });
  expect(bench.plugin().problem).toBe(
    "The server cannot be used: it answers with HTTP 401. If users sign in at it, write oauth: user beside its url in the agent's file; it is tried again",
  );
});

test('calls at the same time that need different rights all get them, and none takes from another what it needs', async () => {
  await using authorization = await startAuthorizationServer();
  await using server = await serveProtected(authorization);
  const credentials = { clientId: 'worker', clientSecret: 'worker-secret' };
  const about = { name: 'desk', url: server.url, issuer: authorization.url };
  const answer = async (_target: string | URL, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    const [needed, holder] = [headers.get('x-needs') ?? '', authorization.holderOf((headers.get('authorization') ?? '').slice('Bearer '.length))];
    if (holder?.scope.split(' ').includes(needed)) return new Response();
    const challenge = holder ? `Bearer error="insufficient_scope", scope="${needed}"` : 'Bearer';
    return new Response(null, { status: holder ? 403 : 401, headers: { 'www-authenticate': challenge } });
  };
  const ask = createAuthorizedFetch(server.url, createWorkerTokens({ server: about, credentials, allowAddresses: [] }), answer);
  const need = async (scope: string) => (await ask(server.url, { headers: { 'x-needs': scope } })).status;
  expect(await Promise.all(['read', 'write', 'share'].map(need))).toEqual([200, 200, 200]);
  const asked = authorization.asked.length;
  expect(await Promise.all(['read', 'write', 'share'].map(need))).toEqual([200, 200, 200]);
  expect(authorization.asked).toHaveLength(asked);
});
