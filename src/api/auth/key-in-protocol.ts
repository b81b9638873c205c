import type { IncomingMessage } from 'node:http';

/** What a client of terminals speaks. */
export const TERMINAL_PROTOCOL = 'longshore.terminal';
const BEARER = 'bearer.';

/**
 * Pages of browsers can send no header with a WebSocket, but names of protocols: `longshore.terminal` and `bearer.<key or token>`. The key becomes a header before
 * anything else sees the request.
 */
export function keyInProtocol({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const bearer = offered.find((name) => name.startsWith(BEARER));
  if (bearer === undefined || !offered.includes(TERMINAL_PROTOCOL) || headers.authorization !== undefined) return;
  headers.authorization = `Bearer ${bearer.slice(BEARER.length)}`;
}
