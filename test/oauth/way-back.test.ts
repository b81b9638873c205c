import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';
import { comeHome, goThere, linkIn, openDesk, signIn, type Desk } from './desk.ts';
import { serveProtected, type ProtectedFixture } from './protected-server.ts';

let authorization: AuthorizationServer;
let server: ProtectedFixture;
let desk: Desk;
let leave: () => void = () => undefined;
let call: Promise<unknown> | undefined;
beforeEach(async () => {
  [leave, call] = [() => undefined, undefined];
  authorization = await startAuthorizationServer();
  server = await serveProtected(authorization);
  desk = await openDesk(server.url);
});
afterEach(async () => {
  leave();
  await call?.catch(() => undefined);
  for (const each of [desk, server, authorization]) await each[Symbol.asyncDispose]();
});

/** The link of a call that waits. */
function waitingLink(): Promise<string> {
  return new Promise((resolve) => {
    desk.person = async (question) => {
      resolve(linkIn(question));
      await new Promise<void>((left) => (leave = left));
      return { action: 'cancel' };
    };
    call = desk.call('ada', 'sign_in');
  });
}
const isSignedIn = async () => (await desk.rows.tokens.get({ tenantId: 'north', userId: 'ada', server: 'desk' })) !== undefined;

test.each([
  [200, { access_token: 'canary-\n', token_type: 'Bearer' }, 'the authorization server gives a token that cannot be sent'],
  [503, { error: 'invalid_client' }, 'the authorization server answers "server_error"'],
])('an exchange that ends with HTTP %i and %j keeps nothing but the registration', async (status, body, message) => {
  const link = await waitingLink();
  authorization.fail = { status, body: JSON.stringify(body) };
  await expect(signIn(desk.rows, link)).rejects.toThrow(message);
  expect(await isSignedIn()).toBe(false);
  authorization.fail = undefined;
  authorization.asked.length = 0;
  desk.person = async () => ({ action: 'decline' });
  await expect(desk.call('ada', 'sign_in')).rejects.toThrow('the user has declined');
  expect(authorization.asked).not.toContain('register');
});

test('where the authorization server does not know the registration any more, the link leads there with another one when it is opened again', async () => {
  const link = await waitingLink();
  authorization.fail = { status: 401, body: '{"error":"invalid_client"}' };
  await expect(signIn(desk.rows, link)).rejects.toThrow('the authorization server answers "invalid_client"');
  authorization.fail = undefined;
  await signIn(desk.rows, link);
  const clients = ['authorize', 'token'].map((endpoint) => authorization.last[endpoint]?.['client_id']);
  expect(clients).toEqual(['client-2', 'client-2']);
  expect(authorization.asked.filter((what) => what === 'register')).toHaveLength(2);
  leave();
  await call;
  authorization.expire();
  expect(await desk.call('ada', 'file')).toBe('filed for ada');
  expect(authorization.last['token']).toMatchObject({ grant_type: 'refresh_token', client_id: 'client-2' });
});

test('a link ends with the question', async () => {
  const link = await waitingLink();
  leave();
  await expect(call).rejects.toThrow('the user has not done so in time');
  await expect(goThere(desk.rows, link)).rejects.toThrow('the link does not work');
});

test('a state is good once, and for the browser that was sent out', async () => {
  const link = await waitingLink();
  const stolen = await goThere(desk.rows, link);
  await expect(comeHome(desk.rows, { ...stolen, cookie: `longshore_sign_in=${'x'.repeat(43)}` })).rejects.toMatchObject({ code: 'LINK_ENDED' });
  await expect(comeHome(desk.rows, stolen)).rejects.toMatchObject({ code: 'LINK_ENDED' });
  const first = await goThere(desk.rows, link);
  const second = await goThere(desk.rows, link);
  await expect(comeHome(desk.rows, first)).rejects.toMatchObject({ code: 'LINK_ENDED' });
  expect(await isSignedIn()).toBe(false);
  expect(await comeHome(desk.rows, second)).toMatchObject([{ tenantId: 'north', userId: 'ada', server: 'desk' }]);
  await expect(comeHome(desk.rows, second)).rejects.toMatchObject({ code: 'LINK_ENDED' });
  await expect(goThere(desk.rows, link)).rejects.toThrow('the link does not work');
});

test.each([
  [{ iss: 'https://elsewhere.example' }, 'the answer does not come from the authorization server to which the browser was sent'],
  [{ iss: '' }, 'the answer does not come from the authorization server to which the browser was sent'],
  [{ code: '', error: 'access_denied' }, 'it was declined there'],
  [{ code: '', error: 'server_error' }, 'the authorization server answers "server_error"'],
  [{ code: '', error: '<script>' }, 'the authorization server answers an error without a known code'],
  [{ code: '' }, 'the authorization server gives no code'],
  [{ code: 'another' }, 'the authorization server answers "invalid_grant"'],
] as [Record<string, string>, string][])('with %j nothing is kept, and the link can be opened again', async (answer, message) => {
  const link = await waitingLink();
  authorization.answer = answer;
  await expect(goThere(desk.rows, link).then((browser) => comeHome(desk.rows, browser))).rejects.toThrow(message);
  expect(await isSignedIn()).toBe(false);
  authorization.answer = {};
  await signIn(desk.rows, link);
  expect(await isSignedIn()).toBe(true);
});
