import {
  discoverAuthorizationServerMetadata,
  OAuthError,
  selectClientAuthMethod,
  type AuthorizationServerMetadata,
  type FetchLike,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import type { SignInRows } from '../store/sign-ins/sign-ins.ts';
import type { KeptTokens, TokenPlace } from '../store/sign-ins/tokens.ts';
import { checkEndpoint } from './check-endpoint.ts';
import { isSameIssuer } from './find-authorization.ts';
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

/** Removes the tokens of a user at a server, in any case, and then has them revoked by their authorization server (RFC 7009), if it can do that. */
export async function signOut({ rows, allowAddresses }: Parts, place: TokenPlace): Promise<SignOut> {
  let kept: KeptTokens | undefined;
  try {
    kept = await rows.tokens.get(place);
  } catch (error) {
    const wasThere = await rows.tokens.remove(place);
    return wasThere ? { outcome: 'kept', why: problemWords(error) } : { outcome: 'none' };
  }
  if (!(await rows.tokens.remove(place)) || !kept) return { outcome: 'none' };
  const { issuer } = kept;
  try {
    await revoke(kept, createOAuthFetch({ url: kept.url }, allowAddresses, AbortSignal.timeout(DEADLINE_MS)));
    return { outcome: 'revoked', issuer };
  } catch (error) {
    return { outcome: 'kept', issuer, why: problemWords(error) };
  }
}

/** The token that renews others first: most servers end with it all that it has given. */
async function revoke({ issuer, url, secret }: KeptTokens, fetchFn: FetchLike): Promise<void> {
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn, skipIssuerValidation: true });
  if (!metadata || !isSameIssuer(metadata.issuer, issuer)) throw new Error('it does not say what it offers');
  const { revocation_endpoint: given } = metadata as { revocation_endpoint?: string };
  if (given === undefined) throw new Error(NO_ENDPOINT);
  const endpoint = checkEndpoint(given, new URL(url));
  const { access_token: access, refresh_token: renewing } = secret['tokens'] as unknown as OAuthTokens;
  const client = secret['client'] as unknown as OAuthClientInformationMixed;
  const send = (token: string, kind: string) => sendTo(endpoint, requestOf(client, metadata, { token, token_type_hint: kind }), fetchFn);
  if (renewing !== undefined) await send(renewing, 'refresh_token');
  try {
    await send(access, 'access_token');
  } catch (error) {
    // Such a token ends soon by itself.
    if (renewing === undefined || !(error instanceof OAuthError) || error.code !== 'unsupported_token_type') throw error;
  }
}

/** As the client proves who it is for tokens, unless the server says how it wants that here. */
function requestOf(client: OAuthClientInformationMixed, metadata: AuthorizationServerMetadata, given: Record<string, string>): RequestInit {
  const { token_endpoint_auth_methods_supported: forTokens, revocation_endpoint_auth_methods_supported: here } = metadata as Record<
    string,
    string[] | undefined
  >;
  const { client_id: id, client_secret: clientSecret } = client;
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const method = selectClientAuthMethod(client, here ?? forTokens ?? []);
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
