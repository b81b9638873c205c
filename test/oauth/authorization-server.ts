import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An authorization server of this process that allows whatever it is asked, as far as the protocol lets it. Tokens name who they are of: its `user` at that time. */
export interface AuthorizationServer extends AsyncDisposable {
  url: string;
  /** Who signs in next. */
  user: string;
  /** Changes what it says of itself. */
  metadata: Record<string, unknown>;
  /** It says that as OpenID Connect does, and in no other way. */
  isOpenId: boolean;
  /** Parameters of the answers to browsers, such as an error. */
  answer: Record<string, string>;
  /** What it was asked, as `token:refresh_token`, `register`, `authorize` and the like. */
  asked: string[];
  /** Parameters of the last request to each endpoint. */
  last: Record<string, Record<string, string>>;
  /** The user and scope of a token; undefined for one that does not hold. */
  holderOf(token: string): { user: string; scope: string } | undefined;
  /** From now on, no access token holds that was issued before. */
  expire(): void;
  /** From now on, no token that renews others holds. */
  forget(): void;
  /** Answers at its endpoint for tokens in place of it. */
  fail: { status: number; body: string } | undefined;
  /** All secrets that it has issued or was shown. */
  secrets: string[];
}

interface Issued {
  user: string;
  scope: string;
  clientId: string;
}

interface Code extends Issued {
  challenge: string;
  redirectUri: string;
}

const OPEN_ID = { jwks_uri: 'https://keys.example/', subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'] };

export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const clients = new Map<string, { secret?: string }>();
  const codes = new Map<string, Code>();
  const access = new Map<string, Issued>();
  const refresh = new Map<string, Issued>();
  const http = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: AuthorizationServer = {
    url,
    user: 'ada',
    metadata: {},
    isOpenId: false,
    answer: {},
    asked: [],
    last: {},
    secrets: [],
    fail: undefined,
    holderOf: (token) => access.get(token),
    expire: () => access.clear(),
    forget: () => refresh.clear(),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  clients.set('worker', { secret: 'worker-secret' });
  return server;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const body = request.method === 'POST' ? await text(request) : '';
    if (pathname === (server.isOpenId ? '/.well-known/openid-configuration' : '/.well-known/oauth-authorization-server'))
      return json(response, 200, { ...metadata(), ...(server.isOpenId && OPEN_ID) });
    if (pathname === '/register') return register(response, body);
    if (pathname === '/authorize') return authorize(response, searchParams);
    if (pathname === '/revoke') return revoke(request, response, new URLSearchParams(body));
    if (pathname === '/token') return token(request, response, new URLSearchParams(body));
    response.writeHead(404).end();
  }

  function metadata(): object {
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      registration_endpoint: `${url}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      ...server.metadata,
    };
  }

  function register(response: ServerResponse, body: string): void {
    const clientId = `client-${clients.size}`;
    server.asked.push('register');
    clients.set(clientId, {});
    json(response, 201, { ...(JSON.parse(body) as object), client_id: clientId, token_endpoint_auth_method: 'none' });
  }

  function authorize(response: ServerResponse, given: URLSearchParams): void {
    server.asked.push('authorize');
    server.last['authorize'] = Object.fromEntries(given);
    const code = secret();
    codes.set(code, {
      user: server.user,
      scope: given.get('scope') ?? '',
      clientId: given.get('client_id') ?? '',
      challenge: given.get('code_challenge') ?? '',
      redirectUri: given.get('redirect_uri') ?? '',
    });
    const back = new URL(given.get('redirect_uri') ?? '');
    const answer = { code, state: given.get('state') ?? '', iss: url, ...server.answer };
    for (const [name, value] of Object.entries(answer)) if (value !== '') back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  function token(request: IncomingMessage, response: ServerResponse, given: URLSearchParams): void {
    const grant = given.get('grant_type') ?? '';
    server.asked.push(`token:${grant}`);
    server.last['token'] = Object.fromEntries(given);
    if (server.fail) return void response.writeHead(server.fail.status, { 'content-type': 'application/json' }).end(server.fail.body);
    if (grant === 'client_credentials') return tokenOfClient(request, response, given);
    const held = grant === 'refresh_token' ? takeFrom(refresh, given.get('refresh_token')) : codeOf(given);
    if (held?.clientId !== given.get('client_id')) return json(response, 400, { error: 'invalid_grant' });
    const { user, scope, clientId } = held;
    json(response, 200, { ...issue({ user, scope, clientId }), refresh_token: renewal({ user, scope, clientId }) });
  }

  function revoke({ headers }: IncomingMessage, response: ServerResponse, given: URLSearchParams): void {
    server.asked.push(`revoke:${given.get('token_type_hint') ?? ''}`);
    server.last['revoke'] = { ...Object.fromEntries(given), ...(headers.authorization !== undefined && { authorization: headers.authorization }) };
    const { fail } = server;
    if (fail) return void response.writeHead(fail.status, { 'content-type': 'application/json' }).end(fail.body);
    access.delete(given.get('token') ?? '');
    refresh.delete(given.get('token') ?? '');
    response.writeHead(200).end();
  }

  function tokenOfClient({ headers }: IncomingMessage, response: ServerResponse, given: URLSearchParams): void {
    const text = Buffer.from((headers.authorization ?? '').slice('Basic '.length), 'base64').toString();
    const [id = '', password] = text.split(':');
    if (clients.get(id)?.secret !== password) return json(response, 401, { error: 'invalid_client' });
    json(response, 200, issue({ user: id, scope: given.get('scope') ?? '', clientId: id }));
  }

  function codeOf(given: URLSearchParams): Code | undefined {
    const code = takeFrom(codes, given.get('code'));
    const challenge = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url');
    return code?.challenge === challenge && code.redirectUri === given.get('redirect_uri') ? code : undefined;
  }

  function issue(issued: Issued): object {
    const value = secret();
    access.set(value, issued);
    return { access_token: value, token_type: 'Bearer', expires_in: 3600, ...(issued.scope !== '' && { scope: issued.scope }) };
  }

  /** It is good for one use. */
  function renewal(issued: Issued): string {
    const value = secret();
    refresh.set(value, issued);
    return value;
  }

  function secret(): string {
    const value = `canary-${randomBytes(24).toString('hex')}`;
    server.secrets.push(value);
    return value;
  }
}

function takeFrom<Value>(map: Map<string, Value>, key: string | null): Value | undefined {
  const value = map.get(key ?? '');
  map.delete(key ?? '');
  return value;
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
