import { createUserTokens } from '../../src/oauth/user-tokens.ts';
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';
import { linkIn, openDesk, PUBLIC_URL, signIn, type Desk } from './desk.ts';
import { serveProtected, type ProtectedFixture } from './protected-server.ts';

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

const toolsOf = async (user: string) => (await desk.pluginOf(user)).tools.map(({ id }) => id);
const renewals = () => authorization.asked.filter((what) => what === 'token:refresh_token').length;

async function signedIn(user = 'ada'): Promise<void> {
  await desk.call(user, 'sign_in');
  authorization.asked.length = 0;
  desk.questions.length = 0;
}

describe('before the sign-in', () => {
  test('a server that tells nobody its tools has one tool, which asks the user to sign in; after that, the user has its tools, and no other user does', async () => {
    expect(await toolsOf('ada')).toEqual(['sign_in']);
    expect(await desk.call('ada', 'sign_in')).toBe('The user is signed in at desk. Its tools, from now on: file.');
    expect(desk.questions).toEqual([
      {
        server: 'desk',
        message: `Sign in at ${new URL(authorization.url).host} to let the agent use desk for you. A call waits for it.`,
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/oauth\/sign-in\/[A-Za-z0-9_-]{43}$/),
        signIn: true,
      },
    ]);
    expect(await toolsOf('ada')).toEqual(['file']);
    expect(await toolsOf('eve')).toEqual(['sign_in']);
  });

  test('a server that tells its tools has them; a call that it refuses waits for the sign-in, and takes effect once', async () => {
    server.tells = 'tools';
    await using other = await openDesk(server.url);
    expect((await other.pluginOf('ada')).tools.map(({ id }) => id)).toEqual(['file']);
    expect(await other.call('ada', 'file')).toBe('filed for ada');
    expect(server.filed).toEqual(['ada']);
  });

  test('what is asked for is what the protocol says: PKCE, a state, the resource, a client that is registered once for a tenant', async () => {
    server.metadata = { scopes_supported: ['notes'] };
    await signedIn('ada');
    await signedIn('bob');
    expect(authorization.last['authorize']).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      code_challenge_method: 'S256',
      redirect_uri: 'http://127.0.0.1:1/oauth/callback',
      state: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      scope: 'notes',
      resource: server.url,
    });
    expect(authorization.last['token']).toMatchObject({ grant_type: 'authorization_code', resource: server.url, client_id: 'client-1' });
  });

  test('a client that the operator has registered is used as it is, and only at the authorization server that the operator names', async () => {
    await using own = await openDesk(server.url, { oauth: { clientId: 'ours', issuer: authorization.url } });
    await own.call('ada', 'sign_in');
    expect(authorization.asked).not.toContain('register');
    expect(authorization.last['authorize']?.['client_id']).toBe('ours');
    await using foreign = await openDesk(server.url, { oauth: { clientId: 'ours', issuer: 'https://elsewhere.example' } });
    await expect(foreign.call('ada', 'sign_in')).rejects.toThrow(
      `the MCP server desk asks for a sign-in, and that is not possible now: the server names the authorization server ${authorization.url}, and only https://elsewhere.example is allowed`,
    );
  });
});

test('a server that says again and again that its tools have changed is asked for them once at a time', async () => {
  await signedIn();
  await desk.call('ada', 'file');
  const before = server.listed;
  server.says = 400;
  await desk.call('ada', 'file');
  while (!desk.logged.some((line) => line.includes('all said'))) await new Promise((resolve) => setImmediate(resolve));
  server.says = 0;
  // Requests that were begun at the same time arrive meanwhile.
  for (let at = 0; at < 20; at += 1) await desk.call('ada', 'file');
  expect(server.listed - before).toBeLessThan(100);
});

describe('a call that waits for a sign-in', () => {
  test.each([
    ['decline', 'the call was not made: the MCP server desk wants the user to sign in, and the user has declined'],
    ['accept', 'the call was not made: the MCP server desk wants the user to sign in, and the user has not done that on the page that was given'],
    ['cancel', 'the call was not made: the MCP server desk wants the user to sign in, and the user has not done so in time'],
  ] as const)('is not made when the person answers %s without a sign-in', async (action, message) => {
    desk.person = async () => ({ action });
    await expect(desk.call('ada', 'sign_in')).rejects.toThrow(message);
    expect(server.filed).toEqual([]);
  });

  test('is not made where nobody can be asked', async () => {
    await expect(desk.call('ada', 'sign_in', { askPerson: undefined as never })).rejects.toThrow(
      'the call was not made: the MCP server desk wants the user to sign in, and no person can be asked here',
    );
  });

  test('goes on when its user has signed in for another call', async () => {
    const waiting: string[] = [];
    desk.person = (question, signal) =>
      new Promise((resolve) => {
        waiting.push(linkIn(question));
        signal.addEventListener('abort', () => resolve({ action: 'cancel' }), { once: true });
      });
    const both = [desk.call('ada', 'sign_in'), desk.call('ada', 'sign_in')];
    while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await signIn(desk.rows, waiting[0]!);
    expect(await Promise.all(both)).toEqual(Array.from({ length: 2 }, () => 'The user is signed in at desk. Its tools, from now on: file.'));
  }, 20_000);

  test('is known as not made, until it is made again; another attempt at it has the same link', async () => {
    await signedIn();
    authorization.expire();
    authorization.forget();
    const [tool] = (await desk.pluginOf('ada')).tools;
    const isUnmade = (callId: string) => tool!.mayGoOn!(callId, {} as never);
    const seen: [string, boolean][] = [];
    desk.person = async (question) => {
      seen.push([linkIn(question), await isUnmade('call_x')]);
      throw new Error('the worker was stopped');
    };
    await expect(desk.call('ada', 'file', { callId: 'call_x' })).rejects.toThrow('the worker was stopped');
    desk.person = async (question) => {
      seen.push([linkIn(question), await isUnmade('call_x')]);
      await signIn(desk.rows, linkIn(question));
      return { action: 'accept' };
    };
    expect(await desk.call('ada', 'file', { callId: 'call_x' })).toBe('filed for ada');
    expect(seen).toEqual([
      [seen[0]![0], true],
      [seen[0]![0], true],
    ]);
    expect(await isUnmade('call_x')).toBe(false);
    expect(await isUnmade('another')).toBe(false);
  }, 20_000);
});

describe('after the sign-in', () => {
  test('a token that has ended is renewed without a person, once for all calls at that time, on whatever worker, and the new renewal is kept', async () => {
    await signedIn();
    await using other = await openDesk(server.url, { rows: desk.rows });
    await other.call('ada', 'sign_in');
    for (let round = 1; round <= 2; round += 1) {
      authorization.expire();
      await Promise.all([desk.call('ada', 'file'), desk.call('ada', 'file'), other.call('ada', 'file')]);
      expect(renewals()).toBe(round);
    }
    expect(desk.questions).toEqual([]);
    expect(server.filed).toEqual(Array.from({ length: 6 }, () => 'ada'));
  });

  test('a renewal that is refused asks the person; one that fails for a reason of the authorization server does not, and repeats none of its words', async () => {
    await signedIn();
    authorization.expire();
    authorization.fail = { status: 503, body: `down, and I was sent ${authorization.secrets.at(-1)}` };
    const message = 'the MCP server desk asks for a sign-in, and that is not possible now: the authorization server answers "server_error"';
    await expect(desk.call('ada', 'file')).rejects.toMatchObject({ message });
    await using other = await openDesk(server.url, { rows: desk.rows });
    await expect(other.call('ada', 'sign_in')).rejects.toMatchObject({ message });
    expect(desk.questions).toEqual([]);
    authorization.fail = undefined;
    authorization.forget();
    expect(await desk.call('ada', 'file')).toBe('filed for ada');
    expect(desk.questions).toHaveLength(1);
  });

  test('calls of a user at the same time whose renewal fails fail together, and do not try one after the other', async () => {
    await signedIn();
    authorization.expire();
    authorization.fail = { status: 503, body: '' };
    const tokens = createUserTokens({ server: { name: 'desk', url: server.url }, publicUrl: PUBLIC_URL, allowAddresses: [], rows: desk.rows });
    const ada = { tenantId: 'north', userId: 'ada' };
    const refused = await tokens.current(ada);
    const calls = await Promise.allSettled(Array.from({ length: 6 }, () => tokens.after(ada, refused, { lacks: 'token' }, false)));
    expect(calls.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'rejected'));
    expect(renewals()).toBe(1);
    authorization.fail = undefined;
    expect(authorization.holderOf(await tokens.after(ada, refused, { lacks: 'token' }, false))).toMatchObject({ user: 'ada' });
  });

  test.each([
    [503, { error: 'backend_unavailable' }, 'server_error'],
    [500, { error: 'internal_failure' }, 'server_error'],
    [429, { error: 'rate_limited' }, 'too_many_requests'],
  ])('a renewal that fails with HTTP %i for a reason of the authorization server keeps the sign-in, whatever code it has: %j', async (status, body, code) => {
    await signedIn();
    authorization.expire();
    authorization.fail = { status, body: JSON.stringify(body) };
    await expect(desk.call('ada', 'file')).rejects.toThrow(`that is not possible now: the authorization server answers "${code}"`);
    authorization.fail = undefined;
    expect(await desk.call('ada', 'file')).toBe('filed for ada');
    expect(desk.questions).toEqual([]);
  });

  test.each(['two\nlines', 'caf\u00e9', 'naïve\u0000', '\ud83d\ude00', '', 'a b'])(
    'a token that no request can carry is none: %j is neither kept nor repeated in what is said, and a later one is used',
    async (odd) => {
      await signedIn();
      authorization.expire();
      const answer = { access_token: odd && `canary-${odd}`, token_type: 'Bearer' };
      authorization.fail = { status: 200, body: JSON.stringify(answer) };
      const failed = (await desk.call('ada', 'file').catch((error: unknown) => error)) as Error;
      expect(failed.message).toContain('that is not possible now: the authorization server gives a token that cannot be sent');
      expect(`${failed.message} ${desk.logged.join()}`).not.toContain('canary');
      authorization.fail = undefined;
      expect(await desk.call('ada', 'file')).toBe('filed for ada');
    },
  );

  test('a call that needs more rights asks for those beside the ones that are there, and for no more than that often', async () => {
    await signedIn();
    server.scope = 'read';
    await desk.call('ada', 'file');
    server.scope = 'write';
    await desk.call('ada', 'file');
    expect(authorization.last['authorize']?.['scope']).toBe('read write');
    server.scope = 'read';
    desk.questions.length = 0;
    await desk.call('ada', 'file');
    expect(desk.questions).toEqual([]);
    server.scope = 'all';
    authorization.metadata = { scopes_supported: [] };
    desk.person = async (question) => {
      await signIn(desk.rows, linkIn(question));
      server.scope += '+';
      return { action: 'accept' };
    };
    await expect(desk.call('ada', 'file')).rejects.toThrow(
      'the call was not made: the MCP server desk refuses it though the user has signed in 3 times for it',
    );
  }, 30_000);

  test('tokens are sent to the server alone, and not to another one of its name', async () => {
    await signedIn();
    await using moved = await serveProtected(authorization);
    await using other = await openDesk(moved.url, { rows: desk.rows });
    other.person = async () => ({ action: 'decline' });
    await expect(other.call('ada', 'sign_in')).rejects.toThrow('the user has declined');
    expect([...moved.seen]).toEqual([]);
    expect(server.seen.size).toBe(1);
  });

  test('a user who has signed out is asked again', async () => {
    await signedIn();
    await desk.rows.tokens.remove({ tenantId: 'north', userId: 'ada', server: 'desk' });
    await desk.call('ada', 'file');
    expect(desk.questions).toHaveLength(1);
  });

  test('nothing that is logged has a token, a code or a secret', async () => {
    await signedIn();
    authorization.expire();
    await desk.call('ada', 'file');
    expect(authorization.secrets.length).toBeGreaterThan(3);
    for (const secret of authorization.secrets) expect(desk.logged.join('\n')).not.toContain(secret);
  });
});
