import {
  discoverAuthorizationServerMetadata,
  OAuthError,
  selectClientAuthMethod,
  type FetchLike,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { tryParseForeign } from '../contracts/foreign-json.ts';
import type { SignInRows } from '../store/sign-ins/sign-ins.ts';
import type { KeptTokens, TokenPlace, TokenRows } from '../store/sign-ins/tokens.ts';
import { checkEndpoint } from './check-endpoint.ts';
import { isOfOrigin, isSameIssuer } from './find-authorization.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { problemWords } from './problem-words.ts';

/**
 * How a sign-out ended. `revoked`: the authorization server refuses the tokens from now on. `kept`: they were removed here, and are valid at the authorization server until they
 * expire; `why` is for people.
 */
export type SignOut = { outcome: 'none' } | { outcome: 'revoked'; issuer: string } | { outcome: 'kept'; issuer?: string; why: string };

interface Parts {
  rows: Pick<SignInRows, 'tokens'>;
  allowAddresses: string[];
}

const DEADLINE_MS = 15_000;
const NO_ENDPOINT = 'it does not offer that';
const OFFERED = z.object({ revocation_endpoint: z.string().optional(), revocation_endpoint_auth_methods_supported: z.array(z.string()).optional() });

/** Removes the tokens of a user at a server, in any case, and then has them revoked by their authorization server (RFC 7009), if it can do that. */
export async function signOut({ rows, allowAddresses }: Parts, place: TokenPlace): Promise<SignOut> {
  let kept: KeptTokens | undefined;
  try {
    // A worker that renews them at this moment stores others, which would hold although these are revoked.
    kept = await rows.tokens.inTurn(place, () => take(rows.tokens, place));
  } catch (error) {
    const wasThere = await rows.tokens.remove(place);
    return wasThere ? { outcome: 'kept', why: problemWords(error) } : { outcome: 'none' };
  }
  if (!kept) return { outcome: 'none' };
  const { issuer } = kept;
  try {
    await revoke(kept, createOAuthFetch({ url: kept.url }, allowAddresses, AbortSignal.timeout(DEADLINE_MS)));
    return { outcome: 'revoked', issuer };
  } catch (error) {
    return { outcome: 'kept', issuer, why: problemWords(error) };
  }
}

/** Removes what there is, and returns exactly that. */
async function take(tokens: TokenRows, place: TokenPlace): Promise<KeptTokens | undefined> {
  for (;;) {
    const kept = await tokens.get(place);
    if (!kept || (await tokens.remove(place, kept.version))) return kept;
  }
}

/** The token that renews others first: most servers end with it all that it has given. */
async function revoke({ issuer, url, secret }: KeptTokens, fetchFn: FetchLike): Promise<void> {
  const { endpoint: given, methods } = await offerOf({ issuer, url }, fetchFn);
  if (given === undefined) throw new Error(NO_ENDPOINT);
  const endpoint = checkEndpoint(given, new URL(url));
  const { access_token: access, refresh_token: renewing } = secret['tokens'] as unknown as OAuthTokens;
  const client = secret['client'] as unknown as OAuthClientInformationMixed;
  const send = (token: string, kind: string) => sendTo(endpoint, requestOf(client, methods, { token, token_type_hint: kind }), fetchFn);
  if (renewing !== undefined) await send(renewing, 'refresh_token');
  try {
    await send(access, 'access_token');
  } catch (error) {
    // Such a token ends soon by itself.
    if (renewing === undefined || !(error instanceof OAuthError) || error.code !== 'unsupported_token_type') throw error;
  }
}

interface Offer {
  endpoint?: string | undefined;
  /** How clients prove who they are: as for tokens, unless the server says how it wants that here. */
  methods: string[];
}

/** What an authorization server says of revocation. The library leaves that out of documents of OpenID Connect. */
async function offerOf({ issuer, url }: Pick<KeptTokens, 'issuer' | 'url'>, fetchFn: FetchLike): Promise<Offer> {
  let said: unknown;
  const listening: FetchLike = async (target, init) => {
    const response = await fetchFn(target, init);
    if (response.ok) said = tryParseForeign(await response.clone().text());
    return response;
  };
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: listening, skipIssuerValidation: true });
  const isOwn = issuer === String(new URL('/', url));
  const isIt = metadata && (isSameIssuer(metadata.issuer, issuer) || (isOwn && isOfOrigin(metadata.issuer, url)));
  if (!isIt) throw new Error('it does not say what it offers');
  const { revocation_endpoint: endpoint, revocation_endpoint_auth_methods_supported: here } = OFFERED.parse(said);
  return { endpoint, methods: here ?? metadata.token_endpoint_auth_methods_supported ?? [] };
}

function requestOf(client: OAuthClientInformationMixed, methods: string[], given: Record<string, string>): RequestInit {
  const { client_id: id, client_secret: clientSecret } = client;
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const method = selectClientAuthMethod(client, methods);
  if (method === 'client_secret_basic') {
    const authorization = `Basic ${Buffer.from(`${id}:${clientSecret ?? ''}`).toString('base64')}`;
    return { method: 'POST', headers: { ...headers, authorization }, body: new URLSearchParams(given) };
  }
  const proof = { client_id: id, ...(method === 'client_secret_post' && clientSecret !== undefined && { client_secret: clientSecret }) };
  return { method: 'POST', headers, body: new URLSearchParams({ ...given, ...proof }) };
}

async function sendTo(endpoint: URL, request: RequestInit, fetchFn: FetchLike): Promise<void> {
  const response = await fetchFn(endpoint, request);
  if (response.ok) return;
  const said = (await response.json().catch(() => undefined)) as { error?: unknown } | undefined;
  if (typeof said?.error !== 'string') throw new Error(`it answers with the status ${response.status}`);
  throw new OAuthError(said.error, '');
}
