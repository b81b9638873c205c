import type { JsonObject } from '../../src/contracts/json.ts';
import { signOut } from '../../src/oauth/revoke-tokens.ts';
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';
import { openDesk, type Desk } from './desk.ts';
import { serveProtected, type ProtectedFixture } from './protected-server.ts';

const ADA = { tenantId: 'north', userId: 'ada', server: 'desk' };

let authorization: AuthorizationServer;
let server: ProtectedFixture;
let desk: Desk;
beforeEach(async () => {
  authorization = await startAuthorizationServer();
  authorization.metadata = { revocation_endpoint: `${authorization.url}/revoke` };
  server = await serveProtected(authorization);
  desk = await openDesk(server.url);
  await desk.call('ada', 'sign_in');
  authorization.asked.length = 0;
});
afterEach(async () => {
  for (const each of [desk, server, authorization]) await each[Symbol.asyncDispose]();
});

const end = () => signOut({ rows: desk.rows, allowAddresses: [] }, ADA);
const tokensOf = async () => (await desk.rows.tokens.get(ADA))?.secret['tokens'] as { access_token: string; refresh_token: string };
const kept = (why: string) => ({ outcome: 'kept', issuer: authorization.url, why });

test('a sign-out removes the tokens and has both revoked', async () => {
  const { access_token: access, refresh_token: renewing } = await tokensOf();
  expect(authorization.holderOf(access)).toMatchObject({ user: 'ada' });
  expect(await end()).toEqual({ outcome: 'revoked', issuer: authorization.url });
  expect(authorization.asked).toEqual(['revoke:refresh_token', 'revoke:access_token']);
  expect(authorization.last['revoke']).toEqual({ token: access, token_type_hint: 'access_token', client_id: 'client-1' });
  expect(authorization.holderOf(access)).toBeUndefined();
  expect(renewing).not.toBe(access);
  expect(await desk.rows.tokens.get(ADA)).toBeUndefined();
  expect(await end()).toEqual({ outcome: 'none' });
});

test.each([
  ['client_secret_basic', { authorization: `Basic ${Buffer.from('own:word').toString('base64')}` }],
  ['client_secret_post', { client_id: 'own', client_secret: 'word' }],
])('a client with a secret proves itself as the server wants it: %s', async (method, proof) => {
  authorization.metadata['revocation_endpoint_auth_methods_supported'] = [method];
  const known = await desk.rows.tokens.get(ADA);
  const { tokens } = known!.secret as { tokens: JsonObject };
  await desk.rows.tokens.put(ADA, { ...known!, secret: { tokens, client: { client_id: 'own', client_secret: 'word' } } });
  expect(await end()).toMatchObject({ outcome: 'revoked' });
  expect(authorization.last['revoke']).toEqual({ token: tokens['access_token'], token_type_hint: 'access_token', ...proof });
});

test.each<[what: string, prepare: () => void, why: string]>([
  ['offers no revocation', () => (authorization.metadata = {}), 'it does not offer that'],
  ['refuses', () => (authorization.fail = { status: 400, body: '{"error":"invalid_client"}' }), 'the authorization server answers "invalid_client"'],
  ['has a failure', () => (authorization.fail = { status: 500, body: 'oh' }), 'it answers with the status 500'],
  ['redirects', () => (authorization.fail = { status: 307, body: '' }), 'it answers with the status 307'],
  ['is another one now', () => (authorization.metadata['issuer'] = 'https://other.example'), 'it does not say what it offers'],
  [
    'names an endpoint without https',
    () => (authorization.metadata['revocation_endpoint'] = 'http://other.example/'),
    '"http://other.example/" is not an https address',
  ],
])('where the authorization server %s, the user is signed out and told that the tokens still hold', async (_what, prepare, why) => {
  prepare();
  expect(await end()).toEqual(kept(why));
  expect(await desk.rows.tokens.get(ADA)).toBeUndefined();
});

test('a server that revokes only what renews has revoked enough', async () => {
  const answers = [undefined, { status: 400, body: '{"error":"unsupported_token_type"}' }];
  Object.defineProperty(authorization, 'fail', { get: () => answers.shift() });
  expect(await end()).toMatchObject({ outcome: 'revoked' });
});

test('tokens that a worker renews while the user signs out are the ones that are removed and revoked', async () => {
  const { refresh_token: before } = await tokensOf();
  let renewed: { access_token: string } | undefined;
  let answer: () => void = () => undefined;
  const begun = new Promise<void>((begin) => {
    // A worker has begun before the sign-out, and its authorization server answers later.
    const renewing = desk.rows.tokens.inTurn(ADA, async () => {
      await new Promise<void>((done) => {
        answer = done;
        begin();
      });
      const known = await desk.rows.tokens.get(ADA);
      const given = { grant_type: 'refresh_token', refresh_token: before, client_id: 'client-1' };
      renewed = (await (await fetch(`${authorization.url}/token`, { method: 'POST', body: new URLSearchParams(given) })).json()) as { access_token: string };
      const { client } = known!.secret as { client: JsonObject };
      await desk.rows.tokens.renew(ADA, known!.version, { scope: '', secret: { tokens: renewed, client } });
    });
    renewing.catch(() => undefined);
  });
  await begun;
  const ended = end();
  answer();
  expect(await ended).toEqual({ outcome: 'revoked', issuer: authorization.url });
  expect(renewed).toBeDefined();
  expect(authorization.holderOf(renewed!.access_token)).toBeUndefined();
});

test('what was renewed between the two looks at it is revoked, too', async () => {
  const known = (await desk.rows.tokens.get(ADA))!;
  const given = { grant_type: 'refresh_token', refresh_token: (await tokensOf()).refresh_token, client_id: 'client-1' };
  const renewed = (await (await fetch(`${authorization.url}/token`, { method: 'POST', body: new URLSearchParams(given) })).json()) as { access_token: string };
  const { client } = known.secret as { client: JsonObject };
  let reads = 0;
  const get: typeof desk.rows.tokens.get = async (place) => {
    const found = await desk.rows.tokens.get(place);
    if (++reads === 1) await desk.rows.tokens.renew(ADA, known.version, { scope: '', secret: { tokens: renewed, client } });
    return found;
  };
  expect(await signOut({ rows: { tokens: { ...desk.rows.tokens, get } }, allowAddresses: [] }, ADA)).toMatchObject({ outcome: 'revoked' });
  expect(authorization.holderOf(renewed.access_token)).toBeUndefined();
  expect(await desk.rows.tokens.get(ADA)).toBeUndefined();
});

test('an authorization server that says what it offers as OpenID Connect does has the tokens revoked', async () => {
  const { access_token: access } = await tokensOf();
  authorization.isOpenId = true;
  expect(await end()).toEqual({ outcome: 'revoked', issuer: authorization.url });
  expect(authorization.holderOf(access)).toBeUndefined();
});

test('a server that is its own authorization server, by another name at its origin, has the tokens revoked', async () => {
  const known = (await desk.rows.tokens.get(ADA))!;
  authorization.metadata['issuer'] = `${authorization.url}/oauth`;
  await desk.rows.tokens.put(ADA, { ...known, url: `${authorization.url}/mcp`, issuer: `${authorization.url}/` });
  expect(await end()).toEqual({ outcome: 'revoked', issuer: `${authorization.url}/` });
});

test('tokens that cannot be read are removed', async () => {
  const tokens = { ...desk.rows.tokens, get: async () => Promise.reject(new Error('no key')) };
  expect(await signOut({ rows: { tokens }, allowAddresses: [] }, ADA)).toEqual({ outcome: 'kept', why: 'no key' });
  expect(await desk.rows.tokens.get(ADA)).toBeUndefined();
});
