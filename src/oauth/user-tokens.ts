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
import { chooseScope } from './choose-scope.ts';
import { clientOfUsers, isOfClient, placeOfClient } from './client-of-users.ts';
import { checkCodeFlow, findAuthorization, isSameIssuer, type Authorization } from './find-authorization.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { problemWords } from './problem-words.ts';
import type { Challenge, ProtectedServer } from './server.ts';
import { SignInNeeded } from './sign-in-needed.ts';

/** The user of a conversation. */
export type User = Pick<TokenPlace, 'tenantId' | 'userId'>;

/** The tokens of users at one server. */
export interface UserTokens {
  /** The one that is sent now; undefined when the user is not signed in. */
  current(user: User): Promise<string | undefined>;
  /**
   * Another token, after the server has refused this one (or a request without any). One that `isFresh` is not renewed.
   * @throws SignInNeeded; an Error for the model when the authorization server cannot be used
   */
  after(user: User, refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string>;
}

interface Parts {
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

export function createUserTokens({ server, publicUrl, allowAddresses, rows }: Parts): UserTokens {
  const placeOf = ({ tenantId, userId }: User): TokenPlace => ({ tenantId, userId, server: server.name });
  const keptAt = async (place: TokenPlace): Promise<KeptTokens | undefined> => {
    const kept = await rows.tokens.get(place);
    return kept?.url === server.url ? kept : undefined;
  };
  return {
    async current(user) {
      const kept = await keptAt(placeOf(user));
      return kept && tokensIn(kept).access_token;
    },
    after(user, refused, challenge, isFresh) {
      const place = placeOf(user);
      // One after the other, on all workers: a token that renews others is often good for one use.
      return rows.tokens.inTurn(place, async () => {
        try {
          return await renewed(place, refused, challenge, isFresh);
        } catch (error) {
          if (error instanceof SignInNeeded) throw error;
          // oxlint-disable-next-line eslint/preserve-caught-error -- the cause may repeat what was sent
          throw new Error(`the MCP server ${server.name} asks for a sign-in, and that is not possible now: ${problemWords(error)}`);
        }
      });
    },
  };

  async function renewed(place: TokenPlace, refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string> {
    const kept = await keptAt(place);
    const known = kept && tokensIn(kept).access_token;
    // Meanwhile, the user has signed in, or another call has renewed it.
    if (known !== undefined && known !== refused) return known;
    const fetchFn = createOAuthFetch(server, allowAddresses, AbortSignal.timeout(DEADLINE_MS));
    const authorization = await findAuthorization(server, challenge, fetchFn);
    if (kept && !isFresh && challenge.lacks === 'token' && isSameIssuer(kept.issuer, authorization.authorizationServerUrl)) {
      const fresh = await refresh(place, kept, authorization, fetchFn);
      if (fresh !== undefined) return fresh;
    }
    checkCodeFlow(authorization);
    const scope = chooseScope(server, challenge, authorization, kept?.scope);
    const client = await clientOfUsers({ server, tenantId: place.tenantId, publicUrl, authorization, scope, rows: rows.clients, fetchFn });
    const { issuer: namedIssuer } = server;
    throw new SignInNeeded({ authorization, client, publicUrl, ...(scope !== undefined && { scope }), ...(namedIssuer !== undefined && { namedIssuer }) });
  }

  /** Undefined when the authorization server wants the user. */
  async function refresh(place: TokenPlace, kept: KeptTokens, authorization: Authorization, fetchFn: FetchLike): Promise<string | undefined> {
    const { refresh_token: refreshToken } = tokensIn(kept);
    if (refreshToken === undefined) return undefined;
    const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata, resource } = authorization;
    const client = kept.secret['client'] as unknown as OAuthClientInformationMixed;
    try {
      const given = { clientInformation: client, refreshToken, fetchFn, ...(metadata && { metadata }), ...(resource !== undefined && { resource }) };
      const tokens = await refreshAuthorization(issuer, given);
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

function tokensIn({ secret }: Pick<KeptTokens, 'secret'>): OAuthTokens {
  return secret['tokens'] as unknown as OAuthTokens;
}

/** The authorization server takes this token no more; a failure of its own says nothing about the token. */
function isRefusal(error: unknown): boolean {
  return error instanceof OAuthError && !FAILURES.has(error.code);
}
