import type { TokenPlace } from '../store/sign-ins/tokens.ts';
import { problemWords } from './problem-words.ts';
import { createRenewal, tokensIn, type RenewalParts } from './renew-tokens.ts';
import type { Challenge } from './server.ts';
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

export function createUserTokens(parts: RenewalParts): UserTokens {
  const { server, rows } = parts;
  const placeOf = ({ tenantId, userId }: User): TokenPlace => ({ tenantId, userId, server: server.name });
  const { keptAt, renewed } = createRenewal(parts);
  const underWay = new Map<string, Promise<string>>();
  return {
    async current(user) {
      const kept = await keptAt(placeOf(user));
      return kept && tokensIn(kept).access_token;
    },
    after(user, refused, challenge, isFresh) {
      // Calls that are refused alike wait for one answer: an authorization server that does not answer would keep them waiting one after the other.
      const key = JSON.stringify([user.tenantId, user.userId, refused, challenge, isFresh]);
      const answer = underWay.get(key) ?? inTurn(placeOf(user), refused, challenge, isFresh).finally(() => underWay.delete(key));
      underWay.set(key, answer);
      return answer;
    },
  };

  /** One after the other, on all workers: a token that renews others is often good for one use. */
  function inTurn(place: TokenPlace, refused: string | undefined, challenge: Challenge, isFresh: boolean): Promise<string> {
    return rows.tokens.inTurn(place, async () => {
      try {
        return await renewed(place, refused, challenge, isFresh);
      } catch (error) {
        if (error instanceof SignInNeeded) throw error;
        // oxlint-disable-next-line eslint/preserve-caught-error -- the cause may repeat what was sent
        throw new Error(`the MCP server ${server.name} asks for a sign-in, and that is not possible now: ${problemWords(error)}`);
      }
    });
  }
}
