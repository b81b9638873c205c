import { exchangeAuthorization, startAuthorization, type OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import { randomBytes } from 'node:crypto';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { SignIn, SignInRows } from '../store/sign-ins/sign-ins.ts';
import { askForTokens } from './ask-for-tokens.ts';
import { checkEndpoint } from './check-endpoint.ts';
import { clientOfUsers, isOfClient, PATHS, placeOfClient } from './client-of-users.ts';
import type { Authorization } from './find-authorization.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { problemWords } from './problem-words.ts';
import { newTokens } from './renew-tokens.ts';
import type { PreparedSignIn } from './sign-in-needed.ts';

interface Parts {
  rows: SignInRows;
  allowAddresses: string[];
}

/** The authorization server gives no tokens. Its message is for people. */
export class SignInFailed extends Error {
  override readonly name = 'SignInFailed';
}

/** How long a person may take at the authorization server. The link can be opened again. */
export const WAY_MS = 10 * 60_000;
const ISSUER_IS_TOLD = 'authorization_response_iss_parameter_supported';
const RANDOM = /^[A-Za-z0-9_-]{43}$/;

/** What an authorization server has sent the browser back with. */
export interface Return {
  state: string;
  code?: string | undefined;
  /** Code of an error. */
  error?: string | undefined;
  /** The authorization server (RFC 9207). */
  issuer?: string | undefined;
}

/** What a sign-in was prepared with. */
export function preparedIn({ secret }: Pick<SignIn, 'secret'>): PreparedSignIn {
  return secret as unknown as PreparedSignIn;
}

/**
 * Sends a browser to the authorization server. Its state is good once, for this browser, which a cookie knows again, and for a short time.
 * @param browser the name of the cookie, and the one that the browser has already
 * @throws an Error that says why the address is not one to send a person to, SignInFailed
 */
export async function setOut(parts: Parts, signIn: SignIn, { name, known }: { name: string; known: string }): Promise<{ location: string; cookie: string }> {
  const { authorization, scope, publicUrl } = preparedIn(signIn);
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resource } = authorization;
  const client = await clientNow(parts, signIn);
  const [state, isKnown] = [randomText(), known.startsWith(`${name}=`) && RANDOM.test(known.slice(name.length + 1))];
  // A browser with several sign-ins at a time has one cookie for all of them.
  const cookie = isKnown ? known : `${name}=${randomText()}`;
  const { authorizationUrl, codeVerifier } = await startAuthorization(authorizationServerUrl, {
    clientInformation: client,
    redirectUrl: `${publicUrl}${PATHS.callback}`,
    state,
    ...(metadata && { metadata }),
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  });
  const { href } = checkEndpoint(authorizationUrl.href, new URL(signIn.url));
  const way = { state, browser: cookie, verifier: codeVerifier, client: client as unknown as JsonObject, ttlMs: WAY_MS };
  await parts.rows.setOut(signIn.signInId, way);
  return { location: href, cookie };
}

/** The client as which the browser goes there. A registration that has ended since, or that the authorization server does not know any more, is replaced. @throws SignInFailed */
async function clientNow({ rows, allowAddresses }: Parts, signIn: SignIn): Promise<OAuthClientInformationMixed> {
  const { client, namedIssuer, scope, ...prepared } = preparedIn(signIn);
  if (!('redirect_uris' in client)) return client;
  const { tenantId, server: name, url } = signIn;
  const server = { name, url, ...(namedIssuer !== undefined && { issuer: namedIssuer }) };
  const fetchFn = createOAuthFetch(server, allowAddresses);
  return clientOfUsers({ ...prepared, server, tenantId, scope, rows: rows.clients, fetchFn }).catch((error: unknown) => {
    // oxlint-disable-next-line eslint/preserve-caught-error -- the cause may repeat what was sent
    throw new SignInFailed(problemWords(error));
  });
}

/**
 * Takes the code with which a browser comes back, exchanges it and keeps the tokens. `waiting`: the calls that waited for it, and the one of `signIn` only if it has not
 * ended meanwhile.
 * @throws LINK_ENDED for a state that is not this browser's, or is used; SignInFailed when the authorization server gives no tokens
 */
export async function comeBack(parts: Parts, given: Return, cookie: string): Promise<{ signIn: SignIn; waiting: SignIn[] }> {
  const back = await parts.rows.comeBack(given.state, cookie);
  if (!back) throw failure('LINK_ENDED', { problem: 'was used already, has expired, or was begun in another browser' });
  const { signIn, verifier } = back;
  const { tenantId, userId, server, url } = signIn;
  const { authorization, scope, namedIssuer, publicUrl } = preparedIn(signIn);
  const client = (back.client as unknown as OAuthClientInformationMixed | undefined) ?? preparedIn(signIn).client;
  const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata, resource } = authorization;
  try {
    const code = codeIn(given, authorization);
    const fetchFn = createOAuthFetch({ url, ...(namedIssuer !== undefined && { issuer: namedIssuer }) }, parts.allowAddresses);
    const exchange = {
      clientInformation: client,
      authorizationCode: code,
      ...(given.issuer !== undefined && { iss: given.issuer }),
      codeVerifier: verifier,
      redirectUri: `${publicUrl}${PATHS.callback}`,
      ...(metadata && { metadata }),
      ...(resource !== undefined && { resource }),
    };
    const tokens = await askForTokens(fetchFn, (asking) => exchangeAuthorization(issuer, { ...exchange, fetchFn: asking }));
    await parts.rows.tokens.put({ tenantId, userId, server }, newTokens(url, issuer, tokens, client, scope));
  } catch (error) {
    const place = placeOfClient({ server: { name: server }, tenantId, publicUrl, issuer });
    if (isOfClient(error)) await parts.rows.clients.remove(place);
    // oxlint-disable-next-line eslint/preserve-caught-error -- the cause may repeat what was sent
    throw new SignInFailed(problemWords(error));
  }
  return { signIn, waiting: await parts.rows.finish({ tenantId, userId, server, url }) };
}

/** @throws an Error when it comes from another authorization server, or has no code */
function codeIn({ code, error, issuer }: Return, { authorizationServerUrl, authorizationServerMetadata: metadata }: Authorization): string {
  const mustSay = metadata !== undefined && ISSUER_IS_TOLD in metadata && metadata[ISSUER_IS_TOLD] === true;
  if (issuer === undefined ? mustSay : issuer !== (metadata?.issuer ?? authorizationServerUrl))
    throw new Error('the answer does not come from the authorization server to which the browser was sent');
  if (error !== undefined) throw new Error(error === 'access_denied' ? 'it was declined there' : `the authorization server answers ${shown(error)}`);
  if (code === undefined) throw new Error('the authorization server gives no code');
  return code;
}

function shown(error: string): string {
  return /^[a-z_]{1,40}$/.test(error) ? `"${error}"` : 'an error without a known code';
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}
