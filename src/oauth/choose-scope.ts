import type { Authorization } from './find-authorization.ts';
import type { Challenge, ProtectedServer } from './server.ts';

/** With it, an authorization server gives a token that renews others, where it wants to be asked for that. */
const OFFLINE = 'offline_access';

/**
 * What to ask for: what the server says that the request needs, else what the operator says, else all that the server has; undefined leaves it to the authorization
 * server. What is allowed already is asked for again, so that one call does not take from another what it needs.
 */
export function chooseScope(
  { scope }: Pick<ProtectedServer, 'scope'>,
  challenge: Challenge,
  { resourceMetadata, authorizationServerMetadata }: Authorization,
  granted = '',
): string | undefined {
  const asked = challenge.scope ?? scope ?? resourceMetadata?.scopes_supported?.join(' ') ?? granted;
  if (asked === '') return undefined;
  const kept = challenge.lacks === 'scope' ? granted : '';
  const offline = authorizationServerMetadata?.scopes_supported?.includes(OFFLINE) ? OFFLINE : '';
  return words(kept, asked, offline).join(' ');
}

function words(...texts: string[]): string[] {
  return [...new Set(texts.flatMap((text) => text.split(' ')))].filter((word) => word !== '');
}
