import { chooseScope } from '../../src/oauth/choose-scope.ts';
import { checkCodeFlow, findAuthorization, isSameIssuer, type Authorization } from '../../src/oauth/find-authorization.ts';
import { createOAuthFetch } from '../../src/oauth/oauth-fetch.ts';

const SERVER = { url: 'https://desk.example/mcp' };
const METADATA = {
  issuer: 'https://auth.example',
  authorization_endpoint: 'https://auth.example/authorize',
  token_endpoint: 'https://auth.example/token',
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
};
const RESOURCE = { resource: 'https://desk.example/mcp', authorization_servers: ['https://auth.example'] };

/** A network with these documents, and nothing else. */
function network(documents: Record<string, object | number>): Parameters<typeof findAuthorization>[2] {
  return async (url) => {
    const found = documents[String(url)];
    if (typeof found === 'object') return Response.json(found);
    return new Response(null, { status: found ?? 404 });
  };
}

const usual = (metadata: object = {}, resource: object = {}) =>
  network({
    'https://desk.example/.well-known/oauth-protected-resource/mcp': { ...RESOURCE, ...resource },
    'https://auth.example/.well-known/oauth-authorization-server': { ...METADATA, ...metadata },
  });

test.each([
  ['what the server says of itself', usual(), undefined],
  [
    'a document that the refusal names, and OpenID Connect',
    network({ 'https://desk.example/about': RESOURCE, 'https://auth.example/.well-known/openid-configuration': { ...METADATA, jwks_uri: 'https://auth.example/keys', subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'] } }), // prettier-ignore
    new URL('https://desk.example/about'),
  ],
])('an authorization server is found by %s', async (_how, fetchFn, resourceMetadataUrl) => {
  const found = await findAuthorization(SERVER, { ...(resourceMetadataUrl && { resourceMetadataUrl }) }, fetchFn);
  expect(found).toMatchObject({ authorizationServerUrl: 'https://auth.example', resource: 'https://desk.example/mcp' });
});

test('a server that says nothing of itself is its own authorization server, as earlier versions of the protocol have it', async () => {
  const metadata = { ...METADATA, issuer: 'https://desk.example/', authorization_endpoint: 'https://desk.example/authorize' };
  const found = await findAuthorization(SERVER, {}, network({ 'https://desk.example/.well-known/oauth-authorization-server': metadata }));
  expect(found.authorizationServerUrl).toBe('https://desk.example/');
  expect(found.resource).toBeUndefined();
  const named = (issuer: string) => network({ 'https://desk.example/.well-known/oauth-authorization-server': { ...metadata, issuer } });
  expect(await findAuthorization(SERVER, {}, named('https://desk.example/oauth'))).toBeDefined();
  await expect(findAuthorization(SERVER, {}, named('https://bank.example/oauth'))).rejects.toThrow(
    'the authorization server https://desk.example/ says that it is https://bank.example/oauth',
  );
});

test.each([
  ['speaks for another one', usual({ issuer: 'https://bank.example' }), 'the authorization server https://auth.example says that it is https://bank.example'],
  ['has a link that runs code', usual({ authorization_endpoint: 'javascript:alert(1)' }), 'javascript'],
  ['has a link over http', usual({ authorization_endpoint: 'http://auth.example/authorize' }), '"http://auth.example/authorize" is not an https address'],
  ['takes tokens over http', usual({ token_endpoint: 'http://auth.example/token' }), '"http://auth.example/token" is not an https address'],
  ['has a link into this machine', usual({ authorization_endpoint: 'http://localhost/authorize' }), '"http://localhost/authorize" is not an https address'],
  [
    'has a user in its link',
    usual({ authorization_endpoint: 'https://bank.example@auth.example/' }),
    '"https://bank.example@auth.example/" contains a user or a password',
  ],
  [
    'is for another server',
    usual({}, { resource: 'https://bank.example/mcp' }),
    'Protected resource https://bank.example/mcp does not match expected https://desk.example/mcp (or origin)',
  ],
])('an authorization server that %s is refused', async (_what, fetchFn, message) => {
  await expect(findAuthorization(SERVER, {}, fetchFn)).rejects.toThrow(message);
});

test('an authorization server that the operator has not named is refused, where one is named', async () => {
  await expect(findAuthorization({ ...SERVER, issuer: 'https://ours.example' }, {}, usual())).rejects.toThrow(
    'the server names the authorization server https://auth.example, and only https://ours.example is allowed',
  );
  expect(await findAuthorization({ ...SERVER, issuer: 'https://auth.example/' }, {}, usual())).toBeDefined();
  await expect(findAuthorization({ ...SERVER, issuer: 'https://ours.example' }, {}, network({}))).rejects.toThrow(
    'the server names no authorization server, and only https://ours.example is allowed',
  );
});

const ABOUT_SERVER = 'https://desk.example/.well-known/oauth-protected-resource';
const ABOUT_ISSUER = 'https://auth.example/.well-known/oauth-authorization-server';

test.each([503, 500, 502, 429])(
  'a server that does not say now where its authorization server is (HTTP %i) is not taken for one that has none: the user would be sent to a wrong place',
  async (status) => {
    const own = { ...METADATA, issuer: 'https://desk.example/', authorization_endpoint: 'https://desk.example/authorize' };
    const documents = { [`${ABOUT_SERVER}/mcp`]: status, 'https://desk.example/.well-known/oauth-authorization-server': own };
    const message = `the server answers with HTTP ${status} when it is asked for its authorization server`;
    await expect(findAuthorization(SERVER, {}, network(documents))).rejects.toThrow(message);
    const named = { resourceMetadataUrl: new URL('https://desk.example/about') };
    await expect(findAuthorization(SERVER, named, network({ ...documents, 'https://desk.example/about': status }))).rejects.toThrow(message);
  },
);

test('a server that names a document over http, as behind a proxy that ends TLS, is its own authorization server if it says so, and is refused otherwise', async () => {
  const named = { resourceMetadataUrl: new URL('http://desk.example/about') };
  const own = { ...METADATA, issuer: 'https://desk.example/', authorization_endpoint: 'https://desk.example/authorize' };
  const found = await findAuthorization(SERVER, named, network({ 'https://desk.example/.well-known/oauth-authorization-server': own }));
  expect(found.authorizationServerUrl).toBe('https://desk.example/');
  await expect(findAuthorization(SERVER, named, network({}))).rejects.toThrow('"http://desk.example/about" is not an https address');
});

test('why a server was not asked for its authorization server is said', async () => {
  const away = async () => Promise.reject(new Error('it is away'));
  await expect(findAuthorization(SERVER, {}, away)).rejects.toThrow('it is away');
  const inside = { resourceMetadataUrl: new URL('https://10.0.0.1/about') };
  await expect(findAuthorization(SERVER, inside, createOAuthFetch(SERVER, []))).rejects.toThrow('an operator can allow it in LONGSHORE_PLUGIN_ADDRESSES');
});

test.each([502, 503, 429])(
  'an authorization server that does not say now what it is (HTTP %i) is not asked at addresses that it may not have',
  async (status) => {
    const documents = { [`${ABOUT_SERVER}/mcp`]: RESOURCE, [ABOUT_ISSUER]: status };
    await expect(findAuthorization(SERVER, {}, network(documents))).rejects.toThrow(`HTTP ${status}`);
  },
);

test('of several authorization servers, the one that the operator names is used, else the one that has issued the tokens, else the first', async () => {
  const other = { ...METADATA, issuer: 'https://other.example' };
  const documents = {
    [`${ABOUT_SERVER}/mcp`]: { ...RESOURCE, authorization_servers: ['https://auth.example', 'https://other.example'] },
    [ABOUT_ISSUER]: METADATA,
    'https://other.example/.well-known/oauth-authorization-server': other,
  };
  const chosen = async (issuer: string | undefined, before?: string) =>
    (await findAuthorization({ ...SERVER, ...(issuer !== undefined && { issuer }) }, {}, network(documents), before)).authorizationServerUrl;
  expect(await chosen(undefined)).toBe('https://auth.example');
  expect(await chosen('https://other.example/')).toBe('https://other.example');
  expect(await chosen(undefined, 'https://other.example')).toBe('https://other.example');
  expect(await chosen('https://auth.example', 'https://other.example')).toBe('https://auth.example');
  expect(await chosen(undefined, 'https://gone.example')).toBe('https://auth.example');
  await expect(chosen('https://ours.example')).rejects.toThrow(
    'the server names the authorization servers https://auth.example, https://other.example, and only https://ours.example is allowed',
  );
});

test('an authorization server without PKCE is refused', async () => {
  const { code_challenge_methods_supported: _left, ...without } = METADATA;
  const found = { authorizationServerUrl: METADATA.issuer, authorizationServerMetadata: without } as Authorization;
  expect(() => checkCodeFlow(found)).toThrow('the authorization server https://auth.example does not say that it supports PKCE with S256');
});

test.each([
  ['http://169.254.169.254/latest', 'is not an https address'],
  ['https://169.254.169.254/latest', 'is not public (linkLocal)'],
  ['https://10.0.0.1/token', 'is not public (private); an operator can allow it in LONGSHORE_PLUGIN_ADDRESSES'],
  ['https://127.0.0.1/token', 'is not public (loopback)'],
  ['https://[::1]/token', 'is not public (loopback)'],
  ['https://0x7f.1/token', 'is not public (loopback)'],
  ['file:///etc/passwd', 'is not an https address'],
])('nothing is sent to %s, which a server has named', async (target, message) => {
  await expect(createOAuthFetch(SERVER, [])(target)).rejects.toThrow(message);
});

test.each(['http://127.0.0.1:9/token', 'https://127.0.0.1:9/token', 'https://10.0.0.1:9/token'])(
  'a server on this machine may name others there, and %s elsewhere is allowed as the operator says',
  async (target) => {
    const signal = AbortSignal.timeout(300);
    const given = target.includes('10.0.0.1') ? { allow: ['10.0.0.0/8'], url: SERVER.url } : { allow: [], url: 'http://localhost:3000/mcp' };
    // It is tried: nothing listens there.
    await expect(createOAuthFetch({ url: given.url }, given.allow, signal)(target)).rejects.not.toMatchObject({ code: 'NETWORK_REFUSED' });
  },
);

test('names of authorization servers are compared as addresses', () => {
  expect(isSameIssuer('https://auth.example', 'https://AUTH.example:443/')).toBe(true);
  expect(isSameIssuer('https://auth.example/a', 'https://auth.example/a/')).toBe(true);
  expect(isSameIssuer('https://auth.example/a', 'https://auth.example/b')).toBe(false);
});

test.each([
  ['what the request needs', { scope: 'ours' }, { lacks: 'token', scope: 'read' }, '', 'read'],
  ['else what the operator says', { scope: 'ours' }, { lacks: 'token' }, '', 'ours'],
  ['else all that the server has', {}, { lacks: 'token' }, '', 'a b'],
  ['and what is there already, if more is needed', {}, { lacks: 'scope', scope: 'write read' }, 'read', 'read write'],
] as const)('a token is asked for with %s', (_what, server, challenge, granted, scope) => {
  const found = { authorizationServerUrl: METADATA.issuer, resourceMetadata: { ...RESOURCE, scopes_supported: ['a', 'b'] } } as Authorization;
  expect(chooseScope(server, challenge, found, granted)).toBe(scope);
  const offline = { ...found, authorizationServerMetadata: { ...METADATA, scopes_supported: ['offline_access'] } };
  expect(chooseScope(server, challenge, offline, granted)).toBe(`${scope} offline_access`);
});

test('without any of them, the authorization server chooses', () => {
  expect(chooseScope({}, { lacks: 'token' }, { authorizationServerUrl: METADATA.issuer })).toBeUndefined();
});
