import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { authorityOf, connectRemote, type Destination } from './connect-remote.ts';
import type { Tally } from './decisions.ts';
import { bodyOf, sendBody } from './http/body.ts';
import { ByteReader } from './http/byte-reader.ts';
import { framingOfRequest, framingOfResponse, type Framing } from './http/framing.ts';
import { alike, BadMessage, readResponseHead, valuesOf, wordsOf, type HeaderField, type RequestHead, type ResponseHead } from './http/message-head.ts';
import { sentOn, writeHead } from './http/sent-on.ts';
import { joinStreams, type Side } from './join-streams.ts';
import type { EgressRefusal } from './http/refuse.ts';

export interface Order {
  request: RequestHead;
  /** In origin form. */
  path: string;
  to: Destination;
  /** Set on the request; they replace the guest's headers of the same name. */
  headers: Record<string, string>;
  tally: Tally;
}
/** What happens with the guest's connection. A refusal is not written yet. */
export type Outcome = 'kept' | 'ended' | 'handedOver' | { refusal: EgressRefusal };

interface Sending {
  done: boolean;
  fault?: BadMessage;
}

const WEBSOCKET_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MAX_INTERIM_ANSWERS = 20;

/**
 * Forwards a guest's request over a new connection to the host, and sends the answer back. Redirects are not followed: the guest sends another request, which
 * is judged like any other.
 * @throws BadMessage when the request is ambiguous; nothing of it was sent then.
 */
export async function exchange(guest: Side, order: Order): Promise<Outcome> {
  const framing = framingOfRequest(order.request);
  const over = new AbortController();
  const onClose = (): void => over.abort();
  guest.connection.once('close', onClose);
  if (guest.connection.destroyed) over.abort();
  const sending: Sending = { done: false };
  let remote: Socket | undefined;
  try {
    remote = await connectRemote(order.to, over.signal);
    const websocketKey = framing.kind === 'none' ? wantedWebsocket(order.request) : undefined;
    send(guest, order, { remote, framing, sending, upgrade: websocketKey !== undefined });
    const reader = new ByteReader(remote);
    over.signal.addEventListener('abort', () => remote?.destroy());
    const answer = await readAnswer(reader, websocketKey);
    if (answer.status !== 101) return await sendAnswer(guest, order, { answer, reader, keep: keeps(order.request) && sending.done });
    handOver(guest, { connection: remote, reader }, answer, order.tally);
    remote = undefined;
    return 'handedOver';
  } catch (error) {
    if (sending.fault) return { refusal: { status: sending.fault.status, why: sending.fault.message } };
    return { refusal: { status: 502, why: `${order.to.target.host} cannot be reached or closed the connection (${(error as Error).message})` } };
  } finally {
    guest.connection.off('close', onClose);
    remote?.destroy();
  }
}

interface Way {
  remote: Socket;
  framing: Framing;
  sending: Sending;
  upgrade: boolean;
}

/** Does not wait until the body is sent: a host may answer earlier. */
function send({ connection, reader }: Side, order: Order, { remote, framing, sending, upgrade }: Way): void {
  const { request, tally } = order;
  remote.write(headOf(order, framing, upgrade));
  if (framing.kind !== 'none' && wordsOf(request.fields, 'expect').includes('100-continue')) connection.write('HTTP/1.1 100 Continue\r\n\r\n');
  sendBody(remote, bodyOf(reader, framing, 'the request'), framing.kind === 'chunked', tally.sent).then(
    () => (sending.done = true),
    (error: unknown) => {
      // The host must not take a part of the body for the whole. When the host itself closed the connection, its answer may still be readable.
      if (!(error instanceof BadMessage)) return;
      sending.fault = error;
      remote.destroy(error);
    },
  );
}

function headOf({ request, path, to, headers }: Order, framing: Framing, upgrade: boolean): Buffer {
  const set = new Set(Object.keys(headers).map(alike));
  return writeHead(`${request.method} ${path} HTTP/1.1`, [
    ['Host', authorityOf(to.target, to.secure)],
    ...sentOn(request.fields).filter(([name]) => !set.has(alike(name))),
    ...Object.entries(headers),
    ...framed(framing),
    ...(upgrade
      ? ([
          ['Connection', 'Upgrade'],
          ['Upgrade', 'websocket'],
        ] satisfies HeaderField[])
      : ([['Connection', 'close']] satisfies HeaderField[])),
  ]);
}

function framed(framing: Framing): HeaderField[] {
  if (framing.kind === 'length') return [['Content-Length', String(framing.length)]];
  return framing.kind === 'chunked' ? [['Transfer-Encoding', 'chunked']] : [];
}

/** The key of a request for a WebSocket. Other upgrades are not forwarded to the host. */
function wantedWebsocket({ method, minor, fields }: RequestHead): string | undefined {
  const wants = method === 'GET' && minor === 1 && wordsOf(fields, 'connection').includes('upgrade') && wordsOf(fields, 'upgrade').join() === 'websocket';
  return wants ? valuesOf(fields, 'sec-websocket-key')[0] : undefined;
}

async function readAnswer(reader: ByteReader, websocketKey: string | undefined): Promise<ResponseHead> {
  for (let interim = 0; interim < MAX_INTERIM_ANSWERS; interim += 1) {
    const answer = await readResponseHead(reader);
    if (answer.status === 101 && !isWebsocket(answer, websocketKey)) throw new BadMessage('it changed the protocol without being asked to');
    if (answer.status === 101 || answer.status >= 200) return answer;
  }
  throw new BadMessage('it gave interim answers only');
}

/** Only a host that understood the handshake can compute this value: one that only repeats what it received does not get a tunnel. */
function isWebsocket({ fields }: ResponseHead, key: string | undefined): boolean {
  if (key === undefined) return false;
  const proof = createHash('sha1')
    .update(key + WEBSOCKET_SUFFIX)
    .digest('base64');
  return valuesOf(fields, 'sec-websocket-accept').join() === proof;
}

function handOver(guest: Side, remote: Side, { reason, fields }: ResponseHead, tally: Tally): void {
  guest.connection.write(writeHead(`HTTP/1.1 101 ${reason}`, [...sentOn(fields), ['Connection', 'Upgrade'], ['Upgrade', 'websocket']]));
  joinStreams(guest, remote, tally);
}

interface Answered {
  answer: ResponseHead;
  reader: ByteReader;
  keep: boolean;
}

async function sendAnswer({ connection }: Side, { request, tally }: Order, { answer, reader, keep }: Answered): Promise<Outcome> {
  const framing = framingOfResponse(answer, request.method);
  // HTTP/1.0 has no chunks: there, the end of the connection is the end of the body.
  const unknown = framing.kind === 'chunked' || framing.kind === 'untilEnd';
  const ours: Framing = unknown ? { kind: request.minor === 1 ? 'chunked' : 'untilEnd' } : framing;
  const kept = keep && ours.kind !== 'untilEnd';
  connection.write(
    writeHead(`HTTP/1.1 ${answer.status} ${answer.reason}`, [
      ...sentOn(answer.fields),
      ...(framing.kind === 'none' ? lengthOfNone(answer) : framed(ours)),
      ['Connection', kept ? 'keep-alive' : 'close'],
    ]),
  );
  try {
    await sendBody(connection, bodyOf(reader, framing, 'its answer'), ours.kind === 'chunked', tally.received);
    return kept ? 'kept' : 'ended';
  } catch {
    // After a broken answer, the guest's connection is destroyed: the guest must not take a part for the whole.
    connection.destroy();
    return 'ended';
  }
}

/** The content-length of an answer without a body, such as one to HEAD: the length that the body would have. */
function lengthOfNone({ status, fields }: ResponseHead): HeaderField[] {
  return status === 204 ? [] : valuesOf(fields, 'content-length').map((length): HeaderField => ['Content-Length', length]);
}

function keeps({ minor, fields }: RequestHead): boolean {
  return minor === 1 && ![...wordsOf(fields, 'connection'), ...wordsOf(fields, 'proxy-connection')].includes('close');
}
