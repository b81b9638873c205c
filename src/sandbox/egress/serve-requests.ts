import { isIP } from 'node:net';
import { inTime, inTimeOr } from '../../common/in-time.ts';
import type { EgressRule } from '../../contracts/agent.ts';
import { resolveReferences } from '../api/references.ts';
import { admit, type EgressParts } from './admit.ts';
import { authorityOf } from './connect-remote.ts';
import { exchange, type Outcome } from './exchange.ts';
import { alike, BadMessage, readRequestHead, valuesOf, type HeaderField, type RequestHead } from './http/message-head.ts';
import type { Side } from './join-streams.ts';
import { endAnswered, refuseConnection, type EgressRefusal } from './http/refuse.ts';
import { addsHeaders, parseTarget, type EgressTarget } from './rules.ts';

/** The other end for the guest: the host of a tunnel (`secure`: over TLS, which is terminated here), or the proxy, which can open a tunnel. */
export type GuestTarget = { target: EgressTarget; secure: boolean } | { openTunnel: (request: RequestHead) => Promise<void> };

type Inner = Extract<GuestTarget, { target: EgressTarget }>;

/** Headers with which some servers choose another host than that of `Host`. */
const HOST_HEADERS = ['x-forwarded-host', 'x-forwarded-server', 'x-host', 'x-original-host', 'x-http-host-override', 'x-real-host', 'forwarded'];

/** Reads the requests of a connection one after the other and answers them. Every request is judged separately. */
export async function serveRequests(parts: EgressParts, guest: Side, place: GuestTarget): Promise<void> {
  const { connection } = guest;
  try {
    for (;;) {
      const request = await nextRequest(parts, guest);
      if (!request) return endAnswered(connection, parts.patience.idleMs);
      if ('openTunnel' in place && request.method === 'CONNECT') return await place.openTunnel(request);
      const outcome = 'openTunnel' in place ? await answerPlain(parts, guest, request) : await answerInner(parts, place, guest, request);
      if (outcome === 'handedOver') return undefined;
      if (outcome === 'ended') return endAnswered(connection, parts.patience.idleMs);
      if (outcome !== 'kept') return refuseConnection(connection, outcome.refusal);
    }
  } catch (error) {
    if (!(error instanceof BadMessage)) return void connection.destroy();
    if ('target' in place) parts.decisions.note(place.target, error.problem);
    return refuseConnection(connection, { status: error.status, why: error.message });
  }
}

/** Undefined when no further request comes. The time limits exist because a sandbox has few connections, and a slow head would occupy one. */
async function nextRequest({ patience }: EgressParts, guest: Side): Promise<RequestHead | undefined> {
  const { reader } = guest;
  if (!(await firstByte(guest, patience.idleMs))) return undefined;
  return inTime(readRequestHead(reader), patience.headMs, () => new BadMessage(`the head of the request took more than ${patience.headMs / 1000} s`, 408));
}

/** False at the end of the stream. A guest that has not taken all of the last answer yet is not idle. */
async function firstByte({ connection, reader }: Side, idleMs: number): Promise<boolean> {
  const first = reader.atLeast(1);
  for (;;) {
    const found = await inTimeOr(first, idleMs, 'idle' as const);
    if (found !== 'idle') return found;
    if (connection.writableLength === 0) throw new Error('idle');
  }
}

async function answerPlain(parts: EgressParts, guest: Side, request: RequestHead): Promise<Outcome> {
  const [, authority = '', rest = ''] = /^http:\/\/([^/?#]*)([/?][^#]*)?$/i.exec(request.target) ?? [];
  if (authority === '') return refused(400, 'this is a proxy: ask it for http://host/path, or to CONNECT');
  const target = parseTarget(authority, 80);
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return answer(parts, guest, { target, written: authority, secure: false, path, request });
}

/** In a tunnel, only the origin form is accepted: other forms name a host, which servers prefer to that of `Host`. */
async function answerInner(parts: EgressParts, { target, secure }: Inner, guest: Side, request: RequestHead): Promise<Outcome> {
  if (!/^\/[^#]*$/.test(request.target)) throw new BadMessage('in a tunnel, the target of a request has to be a path that begins with "/"');
  return answer(parts, guest, { target, written: authorityOf(target, secure), secure, path: request.target, request });
}

interface Asked {
  target: ReturnType<typeof parseTarget>;
  /** What the guest wrote for the target. */
  written: string;
  secure: boolean;
  path: string;
  request: RequestHead;
}

async function answer(parts: EgressParts, guest: Side, { target: asked, written, secure, path, request }: Asked): Promise<Outcome> {
  const foreign = 'host' in asked ? foreignHost(request, asked, secure) : undefined;
  if (foreign !== undefined && 'host' in asked) {
    const why = `the connection is to ${authorityOf(asked, secure)}, the request to another host`;
    parts.decisions.note(foreign, why);
    return refused(421, why);
  }
  const admitted = await admit(parts, asked, written);
  if ('refusal' in admitted) return admitted;
  const { target, rule, addresses, tally } = admitted;
  // TRACE would return the added headers to the guest. Some servers ignore the case of methods.
  if (/^(TRACE|CONNECT)$/i.test(request.method)) return refused(405, `the method ${request.method} is not supported`);
  if (valuesOf(request.fields, 'expect').some((value) => value.toLowerCase() !== '100-continue'))
    return refused(417, 'the only supported expectation is 100-continue');
  const credentials = credentialsFor(parts, { target, rule, secure });
  if ('refusal' in credentials) return credentials;
  return exchange(guest, { request, path, to: { target, secure, addresses, trust: parts.trust ?? {} }, headers: credentials.headers, tally });
}

/** The headers to add, or a refusal when they may not be sent on this connection. */
function credentialsFor(
  { decisions, readEnvironment }: EgressParts,
  { target, rule, secure }: { target: EgressTarget; rule: EgressRule; secure: boolean },
): { headers: Record<string, string> } | { refusal: EgressRefusal } {
  if (addsHeaders(rule) && !secure && rule.cleartext !== true) {
    const why = `credentials for ${target.host} are not sent unencrypted; use https, or write cleartext: true in the rule of this host`;
    decisions.note(target, why);
    return refused(403, why);
  }
  const filled = resolveReferences(rule.headers ?? {}, readEnvironment);
  if ('missing' in filled) return refused(502, `the credential for ${target.host} is not set (${filled.missing})`);
  const unfit = Object.entries(filled.values).find(([, value]) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(value));
  if (unfit) return refused(502, `the credential for ${target.host} has a line break or another character that the header ${unfit[0]} cannot have`);
  return { headers: filled.values };
}

/** A host other than the target that the request names in a header. */
function foreignHost({ minor, fields }: RequestHead, target: EgressTarget, secure: boolean): string | undefined {
  const hosts = valuesOf(fields, 'host');
  if (hosts.length > 1) throw new BadMessage('the request has more than one host header');
  if (hosts.length === 0 && minor === 1) throw new BadMessage('the request has no host header');
  const bare = isIP(target.host) === 6 ? `[${target.host}]` : target.host;
  const own = [authorityOf(target, secure), `${bare}:${target.port}`];
  const foreign = hosts.find((host) => !own.includes(host.toLowerCase()));
  if (foreign !== undefined) return foreign;
  const names = [...own, bare];
  const plain = fields.map(([name, value]): HeaderField => [alike(name), value]);
  return HOST_HEADERS.flatMap((name) => valuesOf(plain, name).flatMap((value) => (name === 'forwarded' ? forwardedHosts(value) : value.split(',')))).find(
    (host) => !names.includes(host.trim().toLowerCase()),
  );
}

function forwardedHosts(value: string): string[] {
  return [...value.matchAll(/(?:^|[;,\s])host\s*=\s*("[^"]*"?|[^;,\s]*)/gi)].map(([, host = '']) => host.replaceAll('"', ''));
}

function refused(status: EgressRefusal['status'], why: string): { refusal: EgressRefusal } {
  return { refusal: { status, why } };
}
