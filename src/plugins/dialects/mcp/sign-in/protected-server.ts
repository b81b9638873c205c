import type { McpRemote } from '../../../../contracts/mcp/server.ts';
import type { McpUserOAuth, McpWorkerOAuth } from '../../../../contracts/mcp/oauth.ts';
import { isLoopback } from '../../../../oauth/check-endpoint.ts';
import type { ProtectedServer } from '../../../../oauth/server.ts';
import type { WorkerCredentials } from '../../../../oauth/worker-tokens.ts';

/** A server at which users sign in, with the worker's variables filled in. */
export type UserServer = McpRemote & { oauth: McpUserOAuth };
export type WorkerServer = McpRemote & { oauth: McpWorkerOAuth };

export function isUserServer(server: object): server is UserServer {
  return 'oauth' in server && (server.oauth as { as?: string }).as === 'user';
}

export function isWorkerServer(server: object): server is WorkerServer {
  return 'oauth' in server && (server.oauth as { as?: string }).as === 'worker';
}

/** @throws an Error when tokens could be read on their way to it */
export function protectedServer(name: string, { url: given, oauth }: UserServer | WorkerServer): ProtectedServer {
  const url = new URL(given);
  url.hash = '';
  if (url.protocol !== 'https:' && !isLoopback(url)) throw new Error('its url has to begin with https, since tokens are sent to it');
  const { clientId, clientSecret: secret, issuer, scope } = oauth;
  return {
    name,
    url: url.href,
    ...(issuer !== undefined && { issuer }),
    ...(clientId !== undefined && { client: { id: clientId, ...(secret !== undefined && { secret }) } }),
    ...(scope !== undefined && { scope }),
  };
}

export function credentialsOf({ oauth: { clientId, clientSecret, privateKey = '', algorithm = '' } }: WorkerServer): WorkerCredentials {
  return clientSecret === undefined ? { clientId, privateKey, algorithm } : { clientId, clientSecret };
}
