import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import type { Agent, Response as UndiciResponse } from 'undici';
import { abortAfter } from '../common/abort-after.ts';
import { createSlots, type Slots } from '../common/slots.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { createAddressPolicy, oddityOfHost, oddityOfWritten, refused, type AddressPolicy, type AddressPolicyOptions } from './address-policy.ts';

export interface GuardedFetchOptions extends AddressPolicyOptions {
  /** Exact hosts; `name` allows every port of the host, `name:8443` only that port. */
  hosts: string[];
  /** Time limit of a request with all its redirects. Default 30 000. */
  timeoutMs?: number;
  /** Size limit of a request's and of a response's body, after decompression. Default 10 MB. */
  maxBytes?: number;
  /** Most answers of more than 1 MB that are read at the same time; others wait with what they have of theirs. Default 16. */
  largeAtOnce?: number;
  /** `dropped`: the caller needs only status and headers. The body is read as far as the limits let it, so that the connection can be used again, and dropped. */
  answers?: 'read' | 'dropped';
}

export interface GuardedFetch extends AsyncDisposable {
  /**
   * As the standard fetch, with the whole body read before it resolves. A fetch whose answers are dropped follows no redirect.
   * @throws NETWORK_REFUSED for what the policy forbids, NETWORK_FAILED for other failures.
   */
  fetch(this: void, url: string | URL, init?: RequestInit): Promise<Response>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
/** Answers lie in memory until they are complete, and a server may take its time with the last byte of each. Longer ones are read in turns. */
const SMALL_BYTES = 1024 * 1024;
const LARGE_AT_ONCE = 16;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** These headers choose the server behind a shared address, the framing or a proxy; a caller must not choose them. */
const REFUSED_HEADERS = /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|proxy-.*)$/;
const CREDENTIAL_HEADERS = ['authorization', 'cookie'];
const BODY_HEADERS = ['content-type', 'content-encoding', 'content-language', 'content-location'];

interface Hop {
  url: URL;
  method: string;
  headers: Headers;
  body: Uint8Array | undefined;
}

/**
 * A fetch that reaches only listed hosts, and only at public addresses. Names are resolved here, and a connection goes to the address that was checked,
 * so that a name whose address changes in between has no effect; every redirect is checked like a first request.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES, largeAtOnce = LARGE_AT_ONCE, answers = 'read' } = options;
  const large = createSlots(largeAtOnce);
  // In lower case, as in URLs.
  const hosts = options.hosts.map((host) => host.toLowerCase());
  const policy = createAddressPolicy(options);
  let agent: Promise<Agent> | undefined;
  return {
    async fetch(target, init = {}) {
      const signal = abortAfter(timeoutMs, ...(init.signal ? [init.signal] : []));
      let hop = await firstHop(target, init, maxBytes);
      for (let redirects = 0; ; redirects += 1) {
        await checkHop(hop, hosts, policy);
        const response = await send(hop, await (agent ??= openAgent(policy, timeoutMs)), signal);
        await checkStatus(response, hop.url);
        if (answers === 'dropped') return await dropBody(response, maxBytes);
        const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
        const isLast = location === null || init.redirect === 'manual';
        if (isLast) return await readAll(response, hop.url, redirects > 0, { maxBytes, large, signal });
        await response.body?.cancel();
        if (init.redirect === 'error') throw refused(hop.url.href, `it redirects to ${location.slice(0, 200)}, and the caller does not allow redirects`);
        if (redirects >= MAX_REDIRECTS) throw refused(hop.url.href, `more than ${MAX_REDIRECTS} redirects`);
        hop = nextHop(hop, response.status, location);
      }
    },
    [Symbol.asyncDispose]: async () => (await agent)?.destroy(),
  };
}

/** undici is loaded by the first fetch: it takes 0.1 s of processor time, and most processes fetch nothing. */
async function openAgent(policy: AddressPolicy, timeoutMs: number): Promise<Agent> {
  const undici = await import('undici');
  return new undici.Agent({ connect: { lookup: checkedLookup(policy), timeout: timeoutMs }, keepAliveTimeout: 4_000 });
}

async function firstHop(target: string | URL, init: RequestInit, maxBytes: number): Promise<Hop> {
  const url = parseTarget(target);
  const headers = new Headers(init.headers);
  for (const name of headers.keys()) if (REFUSED_HEADERS.test(name)) throw refused(url.href, `the header "${name}" cannot be set`);
  const method = (init.method ?? 'GET').toUpperCase();
  if (init.body === undefined || init.body === null) return { url, method, headers, body: undefined };
  // Read once, so that a redirect can send it again.
  const carrier = new Response(init.body);
  const type = carrier.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  const body = new Uint8Array(await carrier.arrayBuffer());
  if (body.length > maxBytes) throw refused(url.href, `the body has ${body.length} bytes; at most ${maxBytes} are sent`);
  return { url, method, headers, body };
}

function parseTarget(target: string | URL): URL {
  const text = String(target);
  const written = /^https?:\/\/([^/?#\\]*)(?:[/?#]|$)/i.exec(text)?.[1];
  if (written === undefined || !URL.canParse(text)) throw refused(text, 'it is not an absolute http or https URL');
  const url = new URL(text);
  if (written.includes('@')) throw refused(url.host, 'credentials in URLs are not accepted; send an authorization header');
  const oddity = oddityOfWritten(text);
  if (oddity) throw refused(written.replace(/:\d*$/, '').toLowerCase(), oddity);
  return url;
}

async function checkHop({ url }: Hop, hosts: string[], policy: AddressPolicy): Promise<void> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused(url.href, 'only http and https are allowed');
  if (url.username || url.password) throw refused(url.host, 'credentials in URLs are not accepted; send an authorization header');
  const host = bare(url.hostname);
  const oddity = oddityOfHost(host);
  if (oddity) throw refused(host, `of this host name, ${oddity}`);
  if (!isListed(url, hosts)) throw refused(url.host, `only these hosts are allowed: ${hosts.join(', ') || 'none'}`);
  // A connection to an address uses no resolver, so the address is checked only here. Names are checked again when they are connected to.
  if (isIP(host) !== 0) await policy.addressesOf(host);
}

function isListed(url: URL, hosts: string[]): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return [url.hostname, bare(url.hostname), `${url.hostname}:${port}`].some((name) => hosts.includes(name));
}

function checkedLookup(policy: AddressPolicy): LookupFunction {
  return (host, { all }, answer) => {
    const look = async (): Promise<void> => {
      const found = (await policy.addressesOf(host)).map((address) => ({ address, family: isIP(address) }));
      if (all) answer(null, found);
      else answer(null, found[0]?.address ?? '', found[0]?.family ?? 0);
    };
    look().catch((error: NodeJS.ErrnoException) => answer(error, ''));
  };
}

async function send({ url, method, headers, body }: Hop, agent: Agent, signal: AbortSignal): Promise<UndiciResponse> {
  const undici = await import('undici');
  try {
    const carried = body === undefined ? {} : { body };
    return await undici.fetch(url, { method, headers: [...headers], dispatcher: agent, redirect: 'manual', signal, ...carried });
  } catch (error) {
    throw asFailure(url, error);
  }
}

/** An error that the check at connection time threw is wrapped in errors of the library. */
function asFailure(url: URL, error: unknown): unknown {
  for (let at = error as { cause?: unknown } | undefined; at; at = at.cause as typeof at) if (isFailure(at)) return at;
  const { name, message, cause } = error as { name?: string; message?: string; cause?: { message?: string } };
  if (name === 'AbortError') return error;
  const problem = name === 'TimeoutError' ? 'no complete answer in time' : (cause?.message ?? message ?? String(error));
  return failure('NETWORK_FAILED', { target: url.origin, problem }, error);
}

function nextHop(from: Hop, status: number, location: string): Hop {
  if (!URL.canParse(location, from.url.href)) throw refused(from.url.href, 'it redirects to something that is not a URL');
  const url = new URL(location, from.url);
  if (from.url.protocol === 'https:' && url.protocol !== 'https:') throw refused(url.href, `a redirect from ${from.url.origin} leaves https`);
  const headers = new Headers(from.headers);
  if (url.origin !== from.url.origin) for (const name of CREDENTIAL_HEADERS) headers.delete(name);
  const becomesGet = status === 303 ? from.method !== 'GET' && from.method !== 'HEAD' : (status === 301 || status === 302) && from.method === 'POST';
  if (!becomesGet) return { ...from, url, headers };
  for (const name of BODY_HEADERS) headers.delete(name);
  return { url, method: 'GET', headers, body: undefined };
}

/** Node.js reads any three digits, and a `Response` cannot be made of all of them. */
async function checkStatus({ status, body }: UndiciResponse, { origin }: URL): Promise<void> {
  if (status >= 200 && status <= 599) return;
  await body?.cancel();
  throw failure('NETWORK_FAILED', { target: origin, problem: `its answer has the status ${status}, which HTTP does not have` });
}

interface Reading {
  maxBytes: number;
  large: Slots;
  signal: AbortSignal;
}

async function readAll(response: UndiciResponse, url: URL, redirected: boolean, reading: Reading): Promise<Response> {
  const body = await readBody(response, url, reading);
  const { status, statusText } = response;
  const headers = new Headers([...response.headers]);
  // The body is already decompressed.
  headers.delete('content-encoding');
  headers.delete('content-length');
  const bodyless = status === 204 || status === 205 || status === 304;
  const answer = new Response(bodyless ? null : body, { status, statusText, headers });
  return Object.defineProperties(answer, { url: { value: url.href }, redirected: { value: redirected } });
}

async function readBody(response: UndiciResponse, url: URL, { maxBytes, large, signal }: Reading): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let giveBack: (() => void) | undefined;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxBytes) throw refused(url.href, `its answer has more than ${maxBytes} bytes`);
      chunks.push(chunk);
      if (size > SMALL_BYTES) giveBack ??= await large.take(signal);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw asFailure(url, error);
  } finally {
    giveBack?.();
  }
}

async function dropBody(response: UndiciResponse, maxBytes: number): Promise<Response> {
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch {
    // The answer is its status and headers, which have come.
  }
  return new Response(null, { status: response.status, headers: [...response.headers] });
}

function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
