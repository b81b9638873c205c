import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { serveFixture, type ServedFixture } from '../plugins/dialects/mcp/support.ts';
import type { AuthorizationServer } from './authorization-server.ts';

/** A server that answers nobody without a token of the authorization server. */
export interface ProtectedFixture extends ServedFixture {
  /** Whose calls took effect, in order. */
  filed: string[];
  /** Tokens that it was sent. */
  seen: Set<string>;
  /** What it says of itself. */
  metadata: Record<string, unknown>;
  /** What a call needs besides a token. */
  scope: string;
  /** What it tells those without a token. */
  tells: 'nothing' | 'tools';
  /** How often it says during a call that its tools have changed; after that, it logs `all said`. */
  says: number;
  /** How often it was asked for its tools. */
  listed: number;
}

export async function serveProtected(authorization: AuthorizationServer): Promise<ProtectedFixture> {
  const filed: string[] = [];
  const seen = new Set<string>();
  let holder = '';
  const create = () => {
    const server = new McpServer({ name: 'desk', version: '1.0.0' }, { capabilities: { logging: {} } });
    server.registerTool('file', { description: 'Files a note.' }, async () => {
      filed.push(holder);
      for (let at = 0; at < fixture.says; at += 1) server.sendToolListChanged();
      if (fixture.says > 0) await server.sendLoggingMessage({ level: 'info', data: 'all said' });
      return { content: [{ type: 'text', text: `filed for ${holder}` }] };
    });
    return server;
  };
  const served = await serveFixture(0, create, guard);
  const fixture: ProtectedFixture = Object.assign(served, { filed, seen, metadata: {}, scope: '', tells: 'nothing' as const, says: 0, listed: 0 });
  const { origin } = new URL(served.url);
  return fixture;

  /** True when it has answered. */
  function guard(request: IncomingMessage, response: ServerResponse, body: string): boolean {
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      const about = { resource: served.url, authorization_servers: [authorization.url], ...fixture.metadata };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about));
      return true;
    }
    if (body.includes('"tools/list"')) fixture.listed += 1;
    const token = (request.headers.authorization ?? '').slice('Bearer '.length);
    if (token !== '') seen.add(token);
    const held = authorization.holderOf(token);
    const isCall = body.includes('"tools/call"');
    if (!held && (fixture.tells === 'nothing' || isCall)) return refuse(response, 401, '');
    if (isCall && !fixture.scope.split(' ').every((one) => one === '' || held?.scope.split(' ').includes(one)))
      return refuse(response, 403, `, error="insufficient_scope", scope="${fixture.scope}"`);
    holder = held?.user ?? 'nobody';
    return false;
  }

  function refuse(response: ServerResponse, status: number, more: string): true {
    response.writeHead(status, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"${more}` }).end();
    return true;
  }
}
