import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { inTime } from '../../common/in-time.ts';
import type { EgressRule } from '../../contracts/agent.ts';
import { admit, type EgressParts } from './admit.ts';
import { connectRemote, type Destination } from './connect-remote.ts';
import type { Tally } from './decisions.ts';
import { ByteReader } from './http/byte-reader.ts';
import { BadMessage, valuesOf, type RequestHead } from './http/message-head.ts';
import { joinStreams, type Side } from './join-streams.ts';
import { recognize, type Recognized } from './recognize.ts';
import { endConnection, refuseConnection } from './http/refuse.ts';
import { addsHeaders, parseTarget, type EgressTarget } from './rules.ts';
import { serveRequests } from './serve-requests.ts';
import { tlsRecords } from './tls/tls-records.ts';

interface Tunnel {
  guest: Side;
  target: EgressTarget;
  rule: EgressRule;
  to: Destination;
  tally: Tally;
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';
const LATE = new Error('no data arrived in time');
/** TLS 1.0, alert, fatal, unrecognized_name. */
const NAME_ALERT = Buffer.from('15030100020270', 'hex');

/** Answers a CONNECT, and ensures that the tunnel is used only for the protocol and the host that the rule allows. */
export async function openTunnel(parts: EgressParts, { target: asked, fields }: RequestHead, guest: Side): Promise<void> {
  if (valuesOf(fields, 'content-length').length + valuesOf(fields, 'transfer-encoding').length > 0) throw new BadMessage('a CONNECT has no body');
  const admitted = await admit(parts, parseTarget(asked), asked);
  if ('refusal' in admitted) return refuseConnection(guest.connection, admitted.refusal);
  const { target, rule, addresses, tally } = admitted;
  const tunnel: Tunnel = { guest, target, rule, tally, to: { target, secure: false, addresses, trust: parts.trust ?? {} } };
  if (!addsHeaders(rule)) return passThrough(parts, tunnel);
  guest.connection.write(ESTABLISHED);
  const found = await look(parts, tunnel);
  if (found?.kind === 'tls') return intercept(parts, tunnel);
  return found?.kind === 'http' ? serveRequests(parts, guest, { target, secure: false }) : undefined;
}

/** Carries bytes unchanged: TLS stays encrypted from end to end. */
async function passThrough(parts: EgressParts, tunnel: Tunnel): Promise<void> {
  const { guest, target, rule, to, tally } = tunnel;
  const over = new AbortController();
  const onClose = (): void => over.abort();
  guest.connection.once('close', onClose);
  let remote: Socket | undefined;
  try {
    remote = await connectRemote(to, over.signal);
    guest.connection.write(ESTABLISHED);
    // Only a rule with `raw` permits protocols other than TLS and HTTP, and hosts that send first.
    const found = rule.raw === true ? ({ kind: 'raw' } as const) : await look(parts, tunnel);
    if (found?.kind === 'http') {
      // Each request has a connection of its own, which a server that takes one connection at a time would not accept beside this one.
      remote.destroy();
      return await serveRequests(parts, guest, { target, secure: false });
    }
    if (!found || guest.connection.destroyed) return undefined;
    joinStreams(guest, { connection: remote, reader: new ByteReader(remote) }, tally, found.kind === 'tls' ? checkRecords(parts, target) : []);
    remote = undefined;
  } catch (error) {
    if (error instanceof BadMessage) throw error;
    refuseConnection(guest.connection, { status: 502, why: `${target.host} cannot be reached (${(error as Error).message})` });
  } finally {
    guest.connection.off('close', onClose);
    remote?.destroy();
  }
  return undefined;
}

/** Recognizes the protocol in a tunnel; undefined when it was refused. */
async function look({ decisions, patience }: EgressParts, { guest, target }: Tunnel): Promise<Exclude<Recognized, { kind: 'refused' }> | undefined> {
  const late = { kind: 'refused', tls: false, why: `neither TLS nor HTTP arrived within ${patience.helloMs / 1000} s` } as const;
  const found = await inTime(recognize(guest.reader, target.host), patience.helloMs, () => LATE).catch((error: Error) => {
    if (error === LATE) return late;
    throw error;
  });
  if (found.kind !== 'refused') return found;
  const why = found.tls ? found.why : `${found.why}; for another protocol, write { host: "${target.host}", ports: [${target.port}], raw: true }`;
  decisions.note(target, why);
  if (found.tls) endConnection(guest.connection, NAME_ALERT);
  else refuseConnection(guest.connection, { status: 403, why });
  return undefined;
}

function checkRecords({ decisions }: EgressParts, target: EgressTarget): ReturnType<typeof tlsRecords>[] {
  const onFault = (): void => void decisions.note(target, 'the connection began as TLS and continued as something else');
  return [tlsRecords(onFault), tlsRecords(onFault)];
}

/** Only for rules that add headers: the worker terminates the guest's TLS, and opens a new TLS connection to the host, whose certificate it verifies. */
async function intercept(parts: EgressParts, { guest, target }: Tunnel): Promise<void> {
  let opened: Duplex;
  try {
    const secureContext = await parts.authority.contextFor(target.host);
    guest.reader.release();
    opened = new TLSSocket(guest.connection, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
  } catch (error) {
    parts.log.warn({ err: error, host: target.host }, 'a connection could not be opened on its way out');
    guest.connection.destroy();
    return;
  }
  opened.on('error', () => guest.connection.destroy());
  opened.on('close', () => guest.connection.destroy());
  await serveRequests(parts, { connection: opened, reader: new ByteReader(opened) }, { target, secure: true });
}
