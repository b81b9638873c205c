import { OAuthError, OAuthErrorCode, type FetchLike, type OAuthTokens } from '@modelcontextprotocol/client';

const TOO_MANY = 429;
/** What a header can carry after `Bearer`. */
const SENDABLE = /^[\x21-\x7e]+$/;

/**
 * Asks an authorization server for tokens. A failure of its own says nothing about what it was sent, whatever code its answer has: proxies and servers write many of
 * their own. A token that cannot be sent is none, since errors about headers repeat them.
 * @throws an OAuthError; an Error for such a token
 */
export async function askForTokens(fetchFn: FetchLike, ask: (fetchFn: FetchLike) => Promise<OAuthTokens>): Promise<OAuthTokens> {
  const tokens = await ask(async (target, init) => {
    const response = await fetchFn(target, init);
    const { status } = response;
    if (status < 500 && status !== TOO_MANY) return response;
    throw new OAuthError(status === TOO_MANY ? OAuthErrorCode.TooManyRequests : OAuthErrorCode.ServerError, '');
  });
  if (!SENDABLE.test(tokens.access_token)) throw new Error('the authorization server gives a token that cannot be sent');
  return tokens;
}
