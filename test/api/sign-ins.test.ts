import fastify from 'fastify';
import type { RouteParts } from '../../src/api/http/route-parts.ts';
import { addSignInPages } from '../../src/api/sign-ins/sign-in-pages.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../oauth/authorization-server.ts';
import { linkIn, openDesk, PUBLIC_URL, type Desk } from '../oauth/desk.ts';
import { serveProtected, type ProtectedFixture } from '../oauth/protected-server.ts';

let authorization: AuthorizationServer;
let server: ProtectedFixture;
let desk: Desk;
beforeEach(async () => {
  authorization = await startAuthorizationServer();
  server = await serveProtected(authorization);
  desk = await openDesk(server.url);
});
afterEach(async () => {
  for (const each of [desk, server, authorization]) await each[Symbol.asyncDispose]();
});

/** The pages of a service, and what its audit log has. */
async function openPages() {
  const audited: object[] = [];
  const store = { signIns: desk.rows, audit: { add: async (entry: object) => void audited.push(entry) }, conversations: { get: async () => undefined } };
  const log = { warn: () => undefined };
  const api = fastify();
  addSignInPages(api as never, { store, log, oauthAddresses: [], addressOf: () => PUBLIC_URL } as unknown as RouteParts);
  const url = await api.listen({ host: '127.0.0.1', port: 0 });
  return { url, audited, [Symbol.asyncDispose]: () => api.close() };
}

test('a sign-in is in the audit log also when its call has ended meanwhile: the tokens are kept', async () => {
  await using pages = await openPages();
  let signInId = '';
  desk.person = async (question) => {
    const link = linkIn(question);
    signInId = (await desk.rows.byLink(link))!.signInId;
    const out = await fetch(`${pages.url}/oauth/sign-in/${link}/go`, { redirect: 'manual' });
    const there = await fetch(out.headers.get('location') ?? '', { redirect: 'manual' });
    // The authorization server takes its time with the code, and the call ends.
    const { tokens } = desk.rows;
    desk.rows.tokens = { ...tokens, put: async (place, given) => (await desk.rows.end(signInId), tokens.put(place, given)) };
    const back = new URL(there.headers.get('location') ?? '');
    const cookie = out.headers.get('set-cookie')?.split(';')[0] ?? '';
    const answer = await fetch(`${pages.url}${back.pathname}${back.search}`, { headers: { cookie } });
    expect([answer.status, (await answer.text()).includes('You are signed in')]).toEqual([200, true]);
    return { action: 'decline' };
  };
  await expect(desk.call('ada', 'sign_in')).rejects.toThrow('the user has declined');
  expect(await desk.rows.tokens.get({ tenantId: 'north', userId: 'ada', server: 'desk' })).toBeDefined();
  expect(pages.audited).toEqual([
    { action: 'user.sign-in', target: 'desk', tenantId: 'north', actor: { kind: 'link', id: signInId }, requestId: expect.any(String) },
  ]);
});
