import type { IncomingMessage } from 'node:http';

const WITH_KEY = /^\/codec\/(lsk_[0-9A-Za-z_]{1,100})(\/(?:decode|encode))$/;

/**
 * Temporal's UI sends no header of ours, so the address of the codec may have the key: `/codec/<key>/decode`. The key becomes a header before anything else sees
 * the request.
 */
export function keyInPath(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const [, key, place] = WITH_KEY.exec(request.url ?? '') ?? [];
  if (key === undefined || place === undefined) return request.url ?? '/';
  request.headers.authorization = `Bearer ${key}`;
  return `/codec${place}`;
}
