import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import type { Challenge } from './server.ts';

/** What a server wants that refuses a request; undefined when it does not refuse it for that. */
export function challengeOf(response: Response): Challenge | undefined {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
  if (status === 403 && error !== 'insufficient_scope') return undefined;
  return {
    lacks: status === 403 ? 'scope' : 'token',
    ...(scope !== undefined && { scope }),
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  };
}
