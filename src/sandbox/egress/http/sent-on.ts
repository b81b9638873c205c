import { wordsOf, type Field } from './message-head.ts';

/** They concern one connection, not the message; ours are made anew. */
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
/** The framing and the host are this proxy's to write. */
const OURS = new Set(['content-length', 'transfer-encoding', 'host']);

/**
 * The headers that go on: without those of the connection, also what its `Connection` header names, without framing and host, which the caller adds. A
 * `Connection` header cannot take away the framing: the caller reads that from the message itself.
 */
export function sentOn(fields: Field[]): Field[] {
  const named = new Set(wordsOf(fields, 'connection'));
  return fields.filter(([given]) => {
    const name = given.toLowerCase();
    return !OF_CONNECTION.has(name) && !OURS.has(name) && !named.has(name);
  });
}

export function writeHead(firstLine: string, fields: Field[]): Buffer {
  return Buffer.from(`${[firstLine, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`, 'latin1');
}
