import { BadMessage, valuesOf, type HeaderField, type RequestHead, type ResponseHead } from './message-head.ts';

/** How the end of a body is determined. */
export type Framing = { kind: 'none' } | { kind: 'length'; length: number } | { kind: 'chunked' } | { kind: 'untilEnd' };

const NONE: Framing = { kind: 'none' };

export function framingOfRequest({ fields, minor }: RequestHead): Framing {
  const framing = framingOf(fields, 'the request');
  if (framing?.kind === 'chunked' && minor === 0) throw new BadMessage('the request is of HTTP/1.0, which has no transfer-encoding');
  return framing ?? NONE;
}

export function framingOfResponse({ fields, status }: ResponseHead, method: string): Framing {
  const framing = framingOf(fields, 'its answer');
  if (method === 'HEAD' || status === 204 || status === 304) return NONE;
  return framing ?? { kind: 'untilEnd' };
}

/** Accepts only one length or one "chunked": readers would interpret anything else differently. */
function framingOf(fields: HeaderField[], what: string): Framing | undefined {
  const lengths = valuesOf(fields, 'content-length');
  const codings = valuesOf(fields, 'transfer-encoding');
  if (lengths.length > 0 && codings.length > 0) throw new BadMessage(`${what} has both content-length and transfer-encoding`);
  if (lengths.length > 1) throw new BadMessage(`${what} has more than one content-length`);
  if (codings.length > 1 || (codings[0] ?? 'chunked').toLowerCase() !== 'chunked') throw new BadMessage(`${what} has a transfer-encoding other than chunked`);
  if (codings.length === 1) return { kind: 'chunked' };
  const [length] = lengths;
  if (length === undefined) return undefined;
  if (!/^\d{1,15}$/.test(length)) throw new BadMessage(`${what} has a content-length that is not a number of bytes`);
  return { kind: 'length', length: Number(length) };
}
