import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { mcpServer, nextSteps } from './scaffold.ts';

/** Servers of the Model Context Protocol, which `open-servers.ts` connects to. */
export const mcp: PluginDialect = {
  name: 'mcp',
  isServer: true,
  // The `user_id` of a server is an id of that server.
  hasOwnIdentity: true,
  scaffold: { files: mcpServer, nextSteps },
};
