import { wordsOf, type HeaderField } from './message-head.ts';

/** Headers of one connection, not of the message. The caller writes its own. */
const OF_CONNECTION = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'http2-settings',
]);
/** The proxy itself writes the framing and the host. */
const OURS = new Set(['content-length', 'transfer-encoding', 'host']);

/**
 * The headers to forward: without those of the connection, those that the `Connection` header names, the framing and the host. The caller adds framing and
 * host. A `Connection` header cannot remove the framing, since the caller reads it from the message itself.
 */
export function sentOn(fields: HeaderField[]): HeaderField[] {
  const named = new Set(wordsOf(fields, 'connection'));
  return fields.filter(([given]) => {
    const name = given.toLowerCase();
    return !OF_CONNECTION.has(name) && !OURS.has(name) && !named.has(name);
  });
}

export function writeHead(firstLine: string, fields: HeaderField[]): Buffer {
  return Buffer.from(`${[firstLine, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`, 'latin1');
}
