import type { IncomingMessage } from 'node:http';

/** What a client of terminals speaks. */
export const TERMINAL_PROTOCOL = 'longshore.terminal';
const BEARER = 'bearer.';

/**
 * Pages of browsers can send no header with a WebSocket, but names of protocols: `longshore.terminal` and `bearer.<key or token>`. The key becomes a header before
 * anything else sees the request.
 */
export function keyInProtocol({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const offered = offeredIn(headers);
  const bearer = offered.find((name) => name.startsWith(BEARER));
  if (bearer === undefined || !offered.includes(TERMINAL_PROTOCOL) || headers.authorization !== undefined) return;
  headers.authorization = `Bearer ${bearer.slice(BEARER.length)}`;
}

/** The protocols that are offered besides those that carry a key; undefined without any. */
export function protocolsBesideKey(headers: IncomingMessage['headers']): string | undefined {
  const offered = offeredIn(headers);
  if (!offered.includes(TERMINAL_PROTOCOL)) return headers['sec-websocket-protocol'];
  const others = offered.filter((name) => name !== TERMINAL_PROTOCOL && !name.startsWith(BEARER));
  return others.length === 0 ? undefined : others.join(', ');
}

function offeredIn(headers: IncomingMessage['headers']): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
}
