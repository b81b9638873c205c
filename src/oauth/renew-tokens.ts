import {
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  type FetchLike,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../contracts/json.ts';
import type { SignInRows } from '../store/sign-ins/sign-ins.ts';
import type { KeptTokens, NewTokens, TokenPlace } from '../store/sign-ins/tokens.ts';
import { askForTokens } from './ask-for-tokens.ts';
import { chooseScope } from './choose-scope.ts';
import { clientOfUsers, isOfClient, placeOfClient } from './client-of-users.ts';
import { checkCodeFlow, findAuthorization, isSameIssuer, type Authorization } from './find-authorization.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import type { Challenge, ProtectedServer } from './server.ts';
import { SignInNeeded } from './sign-in-needed.ts';

export interface RenewalParts {
  server: ProtectedServer;
  publicUrl: string;
  allowAddresses: string[];
  rows: Pick<SignInRows, 'tokens' | 'clients'>;
}

const FAILURES = new Set<string>([OAuthErrorCode.ServerError, OAuthErrorCode.TemporarilyUnavailable, OAuthErrorCode.TooManyRequests]);
/** Less than the time for which others wait for their turn. */
const DEADLINE_MS = 9_000;

/** What is stored of a sign-in. */
export function newTokens(url: string, issuer: string, tokens: OAuthTokens, client: OAuthClientInformationMixed, asked = ''): NewTokens {
  return { url, issuer, scope: tokens.scope ?? asked, secret: { tokens: tokens as unknown as JsonObject, client: client as unknown as JsonObject } };
}

/** What is kept for a user of the server, and another token in its place. */
interface Renewal {
  /** Undefined for what was issued for another address. */
  keptAt(this: void, place: TokenPlace): Promise<KeptTokens | undefined>;
  /** Another token than the one that was refused. @throws SignInNeeded */
  renewed(this: void, place: TokenPlace, refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string>;
}

export function createRenewal({ server, publicUrl, allowAddresses, rows }: RenewalParts): Renewal {
  return { keptAt, renewed };

  async function keptAt(place: TokenPlace): Promise<KeptTokens | undefined> {
    const kept = await rows.tokens.get(place);
    return kept?.url === server.url ? kept : undefined;
  }

  async function renewed(place: TokenPlace, refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string> {
    const kept = await keptAt(place);
    const known = kept && tokensIn(kept).access_token;
    // Meanwhile, the user has signed in, or another call has renewed it.
    if (known !== undefined && known !== refused) return known;
    const fetchFn = createOAuthFetch(server, allowAddresses, AbortSignal.timeout(DEADLINE_MS));
    const authorization = await findAuthorization(server, challenge, fetchFn, kept?.issuer);
    if (kept && !isFresh && challenge.lacks === 'token' && isSameIssuer(kept.issuer, authorization.authorizationServerUrl)) {
      const fresh = await refresh(place, kept, authorization, fetchFn);
      if (fresh !== undefined) return fresh;
    }
    throw await signInAt(authorization, place, chooseScope(server, challenge, authorization, kept?.scope), fetchFn);
  }

  async function signInAt(authorization: Authorization, { tenantId }: TokenPlace, scope: string | undefined, fetchFn: FetchLike): Promise<SignInNeeded> {
    checkCodeFlow(authorization);
    const client = await clientOfUsers({ server, tenantId, publicUrl, authorization, scope, rows: rows.clients, fetchFn });
    const { issuer: namedIssuer } = server;
    return new SignInNeeded({ authorization, client, publicUrl, ...(scope !== undefined && { scope }), ...(namedIssuer !== undefined && { namedIssuer }) });
  }

  /** Undefined when the authorization server wants the user. */
  async function refresh(place: TokenPlace, kept: KeptTokens, authorization: Authorization, fetchFn: FetchLike): Promise<string | undefined> {
    const { refresh_token: refreshToken } = tokensIn(kept);
    if (refreshToken === undefined) return undefined;
    const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata, resource } = authorization;
    const client = kept.secret['client'] as unknown as OAuthClientInformationMixed;
    try {
      const given = { clientInformation: client, refreshToken, ...(metadata && { metadata }), ...(resource !== undefined && { resource }) };
      const tokens = await askForTokens(fetchFn, (asking) => refreshAuthorization(issuer, { ...given, fetchFn: asking }));
      if (await rows.tokens.renew(place, kept.version, newTokens(kept.url, issuer, tokens, client, kept.scope))) return tokens.access_token;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (isOfClient(error)) await rows.clients.remove(placeOfClient({ server, tenantId: place.tenantId, publicUrl, issuer }));
      await rows.tokens.remove(place, kept.version);
    }
    // The user has signed out meanwhile, or signed in anew.
    const now = await keptAt(place);
    return now && tokensIn(now).access_token;
  }
}

export function tokensIn({ secret }: Pick<KeptTokens, 'secret'>): OAuthTokens {
  return secret['tokens'] as unknown as OAuthTokens;
}

/** The authorization server takes this token no more; a failure of its own says nothing about the token. */
function isRefusal(error: unknown): boolean {
  return error instanceof OAuthError && !FAILURES.has(error.code);
}
