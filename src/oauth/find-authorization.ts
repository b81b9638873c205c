import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  selectResourceURL,
  type FetchLike,
  type OAuthServerInfo,
} from '@modelcontextprotocol/client';
import { checkEndpoint } from './check-endpoint.ts';
import type { Challenge, ProtectedServer } from './server.ts';

const TOO_MANY = 429;

/** The authorization server of an MCP server, and what both say of themselves. It is JSON. */
export interface Authorization extends OAuthServerInfo {
  /** The `resource` of requests (RFC 8707), if the server says what it is. */
  resource?: string;
}

/**
 * Finds the authorization server of an MCP server.
 * @param before the one that has issued tokens for it: it stays the one as long as the server names it
 * @throws an Error that says why it cannot be used
 */
export async function findAuthorization(
  server: Pick<ProtectedServer, 'url' | 'issuer'>,
  { resourceMetadataUrl }: Pick<Challenge, 'resourceMetadataUrl'>,
  fetchFn: FetchLike,
  before?: string,
): Promise<Authorization> {
  const refusal = resourceMetadataUrl && refusalOf(resourceMetadataUrl, new URL(server.url));
  const resourceMetadata = refusal ? undefined : await saidOfServer(server.url, resourceMetadataUrl, fetchFn);
  const named = resourceMetadata?.authorization_servers ?? [];
  const authorizationServerUrl = chosenOf(named, server.issuer ?? before) ?? String(new URL('/', server.url));
  checkNamed(named, authorizationServerUrl, server.issuer);
  const metadata = await saidOfIssuer(authorizationServerUrl, fetchFn);
  // It names a document, so it is none of those whose addresses are known without one.
  if (refusal && !metadata) throw refusal;
  const found = { authorizationServerUrl, ...(resourceMetadata && { resourceMetadata }), ...(metadata && { authorizationServerMetadata: metadata }) };
  checkIssuer(found);
  checkMetadata(found, new URL(server.url));
  return { ...found, ...(await resourceIn(resourceMetadata, server.url)) };
}

/** The resource as the server writes it, since authorization servers compare texts. @throws an Error for one that is not this server */
async function resourceIn(said: OAuthServerInfo['resourceMetadata'], url: string): Promise<Pick<Authorization, 'resource'>> {
  const isNamed = (await selectResourceURL(url, NO_CHOICE, said)) !== undefined;
  return isNamed && said ? { resource: said.resource } : {};
}

function refusalOf(url: URL, server: URL): Error | undefined {
  try {
    checkEndpoint(url.href, server);
  } catch (error) {
    return error as Error;
  }
  return undefined;
}

/** What a server says of itself; undefined where it says nothing, as in earlier versions of the protocol. */
async function saidOfServer(url: string, resourceMetadataUrl: URL | undefined, fetchFn: FetchLike): Promise<OAuthServerInfo['resourceMetadata']> {
  const watched = watchFailures(fetchFn, 'the server', 'when it is asked for its authorization server');
  try {
    return await discoverOAuthProtectedResourceMetadata(url, resourceMetadataUrl && { resourceMetadataUrl }, watched.fetchFn);
  } catch {
    watched.throwFailure();
    return undefined;
  }
}

async function saidOfIssuer(url: string, fetchFn: FetchLike): Promise<OAuthServerInfo['authorizationServerMetadata']> {
  const watched = watchFailures(fetchFn, 'the authorization server', 'when it is asked what it is');
  // Who it says it is, is checked below, with more words and with regard to earlier versions of the protocol.
  const said = await discoverAuthorizationServerMetadata(url, { fetchFn: watched.fetchFn, skipIssuerValidation: true });
  if (!said) watched.throwFailure();
  return said;
}

/** Remembers the first request that failed. The library takes some of these for the answer that there is nothing, and goes on at addresses of earlier versions of the protocol. */
function watchFailures(fetchFn: FetchLike, who: string, when: string): { fetchFn: FetchLike; throwFailure(): void } {
  let failed: { error: unknown } | undefined;
  return {
    async fetchFn(target, init) {
      try {
        const response = await fetchFn(target, init);
        const { status } = response;
        if (status >= 500 || status === TOO_MANY) failed ??= { error: new Error(`${who} answers with HTTP ${status} ${when}`) };
        return response;
      } catch (error) {
        failed ??= { error };
        throw error;
      }
    },
    throwFailure() {
      if (failed) throw failed.error;
    },
  };
}

function chosenOf(named: string[], wanted: string | undefined): string | undefined {
  return named.find((one) => wanted !== undefined && isSameIssuer(one, wanted)) ?? named[0];
}

/** The server must not lead elsewhere than the operator says. */
function checkNamed(named: string[], chosen: string, issuer: string | undefined): void {
  if (issuer === undefined || isSameIssuer(issuer, chosen)) return;
  const all = named.length > 1 ? `the authorization servers ${named.join(', ')}` : `the authorization server ${chosen}`;
  throw new Error(`the server names ${named.length === 0 ? 'no authorization server' : all.slice(0, 230)}, and only ${issuer} is allowed`);
}

/** The library asks this for a choice of its own; there is none. */
const NO_CHOICE = {} as Parameters<typeof selectResourceURL>[1];

/** Whether two names of authorization servers are the same: a slash at the end makes no difference. */
export function isSameIssuer(one: string, other: string): boolean {
  const plain = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).href : issuer).replace(/\/$/, '');
  return plain(one) === plain(other);
}

/** An authorization server must not speak for another one. */
function checkIssuer({ authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata }: OAuthServerInfo): void {
  const isOwn = metadata && !resourceMetadata && isOfOrigin(metadata.issuer, authorizationServerUrl);
  if (metadata && !isOwn && !isSameIssuer(metadata.issuer, authorizationServerUrl))
    throw new Error(`the authorization server ${authorizationServerUrl.slice(0, 200)} says that it is ${metadata.issuer.slice(0, 200)}`);
}

/** Before servers said where their authorization server is, it was at their own origin, by whatever name. */
export function isOfOrigin(issuer: string, server: string): boolean {
  return URL.canParse(issuer) && new URL(issuer).origin === new URL(server).origin;
}

function checkMetadata({ authorizationServerUrl, authorizationServerMetadata: metadata }: OAuthServerInfo, server: URL): void {
  checkEndpoint(authorizationServerUrl, server);
  if (!metadata) return;
  const { authorization_endpoint: authorize, token_endpoint: token, registration_endpoint: register } = metadata;
  for (const endpoint of [authorize, token, register]) if (endpoint !== undefined) checkEndpoint(endpoint, server);
}

/** Without a challenge (PKCE), a code that somebody else has seen could be exchanged. @throws an Error */
export function checkCodeFlow({ authorizationServerUrl, authorizationServerMetadata: metadata }: Authorization): void {
  if (metadata && !metadata.code_challenge_methods_supported?.includes('S256'))
    throw new Error(`the authorization server ${authorizationServerUrl.slice(0, 200)} does not say that it supports PKCE with S256`);
}
