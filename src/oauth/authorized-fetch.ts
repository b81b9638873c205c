import type { FetchLike } from '@modelcontextprotocol/client';
import { challengeOf } from './challenge-of.ts';
import type { Challenge } from './server.ts';

/** Where the tokens for requests come from. */
export interface TokenSource {
  current(): Promise<string | undefined>;
  /**
   * Another one, after this one was refused; `isFresh`: it has just been issued, so that renewing it is no use.
   * @throws what the request fails with
   */
  after(refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string>;
}

/** Adds a token to requests to a server, and to no other origin. What is refused is asked again with another token. */
export function createAuthorizedFetch(serverUrl: string, tokens: TokenSource, base: FetchLike = fetch): FetchLike {
  const { origin } = new URL(serverUrl);
  return async (target, init = {}) => {
    if (new URL(target).origin !== origin) return base(target, init);
    const first = await tokens.current();
    const response = await base(target, withToken(init, first));
    // The end of a session is not worth a sign-in.
    const challenge = init.method === 'DELETE' ? undefined : challengeOf(response);
    if (!challenge) return response;
    await response.body?.cancel();
    const second = await tokens.after(first, challenge, false);
    const again = await base(target, withToken(init, second));
    const refused = challengeOf(again);
    if (!refused) return again;
    await again.body?.cancel();
    // Most sources can do nothing more here, and throw.
    return base(target, withToken(init, await tokens.after(second, refused, true)));
  };
}

function withToken(init: RequestInit, token: string | undefined): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}
