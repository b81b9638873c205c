import { discoverOAuthServerInfo, selectResourceURL, type FetchLike, type OAuthServerInfo } from '@modelcontextprotocol/client';
import { checkEndpoint } from './check-endpoint.ts';
import type { Challenge, ProtectedServer } from './server.ts';

/** The authorization server of an MCP server, and what both say of themselves. It is JSON. */
export interface Authorization extends OAuthServerInfo {
  /** The `resource` of requests (RFC 8707), if the server says what it is. */
  resource?: string;
}

/**
 * Finds the authorization server of an MCP server.
 * @throws an Error that says why it cannot be used
 */
export async function findAuthorization(
  server: Pick<ProtectedServer, 'url' | 'issuer'>,
  { resourceMetadataUrl }: Pick<Challenge, 'resourceMetadataUrl'>,
  fetchFn: FetchLike,
): Promise<Authorization> {
  // Who it says it is, is checked below, with more words and with regard to earlier versions of the protocol.
  const found = await discoverOAuthServerInfo(server.url, { fetchFn, skipIssuerMetadataValidation: true, ...(resourceMetadataUrl && { resourceMetadataUrl }) });
  checkIssuer(found, server);
  checkMetadata(found, new URL(server.url));
  // Throws for a resource that is not this server.
  const isNamed = (await selectResourceURL(server.url, NO_CHOICE, found.resourceMetadata)) !== undefined;
  // As the server writes it, since authorization servers compare texts.
  return { ...found, ...(isNamed && found.resourceMetadata && { resource: found.resourceMetadata.resource }) };
}

/** The library asks this for a choice of its own; there is none. */
const NO_CHOICE = {} as Parameters<typeof selectResourceURL>[1];

/** Whether two names of authorization servers are the same: a slash at the end makes no difference. */
export function isSameIssuer(one: string, other: string): boolean {
  const plain = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).href : issuer).replace(/\/$/, '');
  return plain(one) === plain(other);
}

/** An authorization server must not speak for another one, and the server must not lead elsewhere than the operator says. */
function checkIssuer(
  { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata }: OAuthServerInfo,
  { issuer }: Pick<ProtectedServer, 'issuer'>,
): void {
  if (issuer !== undefined && !isSameIssuer(issuer, authorizationServerUrl))
    throw new Error(`the server names the authorization server ${authorizationServerUrl.slice(0, 200)}, and only ${issuer} is allowed`);
  // Before servers said where their authorization server is, it was at their own origin, by whatever name.
  const isOwn = metadata && !resourceMetadata && isSameOrigin(metadata.issuer, authorizationServerUrl);
  if (metadata && !isOwn && !isSameIssuer(metadata.issuer, authorizationServerUrl))
    throw new Error(`the authorization server ${authorizationServerUrl.slice(0, 200)} says that it is ${metadata.issuer.slice(0, 200)}`);
}

function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).origin === new URL(other).origin;
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
