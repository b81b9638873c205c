import { ClientCredentialsProvider, fetchToken, PrivateKeyJwtProvider, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { askForTokens } from './ask-for-tokens.ts';
import type { TokenSource } from './authorized-fetch.ts';
import { chooseScope } from './choose-scope.ts';
import { findAuthorization, isSameIssuer } from './find-authorization.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { problemWords } from './problem-words.ts';
import type { Challenge, ProtectedServer } from './server.ts';

/** What the operator has registered for workers. */
export type WorkerCredentials = { clientId: string } & ({ clientSecret: string } | { privateKey: string; algorithm: string });

interface Parts {
  server: ProtectedServer & { issuer: string };
  credentials: WorkerCredentials;
  allowAddresses: string[];
}

interface Issued {
  token: string;
  /** What was asked for. */
  scope: string;
}

const DEADLINE_MS = 15_000;

/** The token of a worker itself (client credentials). It is kept in memory: another one is issued without a person. */
export function createWorkerTokens({ server, credentials, allowAddresses }: Parts): TokenSource {
  let known: Issued | undefined;
  let asking: { scope: string; issued: Promise<Issued> } | undefined;
  return {
    current: async () => known?.token,
    async after(refused, challenge, isFresh) {
      // Others may need other rights, and may be asking for those.
      for (let other = asking; other; other = asking) {
        if (covers(other.scope, challenge)) return (await other.issued).token;
        await other.issued.catch(() => undefined);
      }
      const isCovered = known !== undefined && covers(known.scope, challenge);
      if (known && isCovered && known.token !== refused) return known.token;
      if (isFresh && isCovered) throw new Error(`the MCP server ${server.name} refuses the token that was just issued for it`);
      return (await begin(challenge)).token;
    },
  };

  function begin(challenge: Challenge): Promise<Issued> {
    const issued = ask(challenge, known?.scope)
      .then((fresh) => (known = fresh))
      .finally(() => (asking = undefined));
    asking = { scope: [known?.scope, challenge.scope].join(' '), issued };
    return issued;
  }

  async function ask(challenge: Challenge, granted: string | undefined): Promise<Issued> {
    try {
      const fetchFn = createOAuthFetch(server, allowAddresses, AbortSignal.timeout(DEADLINE_MS));
      const authorization = await findAuthorization(server, challenge, fetchFn);
      const { authorizationServerUrl, authorizationServerMetadata: metadata, resource } = authorization;
      const scope = chooseScope(server, challenge, authorization, granted);
      const provider = providerOf(credentials, server.issuer, scope);
      const given = { ...(metadata && { metadata }), ...(resource !== undefined && { resource }) };
      // Both names are of the same server; the library compares them, too.
      const issuer = isSameIssuer(server.issuer, authorizationServerUrl) ? server.issuer : authorizationServerUrl;
      const { access_token: issued } = await askForTokens(fetchFn, (asking) => fetchToken(provider, issuer, { ...given, fetchFn: asking }));
      return { token: issued, scope: scope ?? '' };
    } catch (error) {
      // oxlint-disable-next-line eslint/preserve-caught-error -- the cause may repeat what was sent
      throw new Error(`the MCP server ${server.name} asks for a token, and none is issued: ${problemWords(error)}`);
    }
  }
}

/** Whether a token for these rights has all that a request was refused for, as far as the server says that. */
function covers(asked: string, { lacks, scope = '' }: Challenge): boolean {
  const words = asked.split(' ');
  return lacks === 'token' || scope.split(' ').every((word) => word === '' || words.includes(word));
}

function providerOf(credentials: WorkerCredentials, expectedIssuer: string, scope: string | undefined): OAuthClientProvider {
  const about = { clientId: credentials.clientId, clientName: 'Longshore', expectedIssuer, ...(scope !== undefined && { scope }) };
  if ('clientSecret' in credentials) return new ClientCredentialsProvider({ ...about, clientSecret: credentials.clientSecret });
  return new PrivateKeyJwtProvider({ ...about, privateKey: credentials.privateKey, algorithm: credentials.algorithm });
}
