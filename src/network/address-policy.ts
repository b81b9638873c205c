import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { failure } from '../contracts/errors.ts';

/** Returns all addresses of a name, as strings. */
export type ResolveName = (host: string) => Promise<string[]>;

export interface AddressPolicy {
  /** Why nothing may be sent to this address, as text; undefined when it is allowed. */
  refusalOf(this: void, address: string): string | undefined;
  /**
   * The addresses of a host, all of them checked: one forbidden address refuses the host. Otherwise, a resolver could add one to allowed addresses.
   * @throws NETWORK_REFUSED, also when the name cannot be resolved.
   */
  addressesOf(this: void, host: string): Promise<string[]>;
}

export interface AddressPolicyOptions {
  /** For tests and for operators with services of their own: addresses or CIDR ranges that are allowed although they are not public. */
  allowAddresses?: string[];
  /** Name of the setting that fills `allowAddresses`; the refusal of an address that is not public names it. */
  setting?: string;
  resolve?: ResolveName;
}

/** Cloud metadata behind a public address, which no range covers. */
const METADATA = new Set(['168.63.129.16']);
const V6_GLOBAL = ipaddr.parseCIDR('2000::/3');
const HOST_NAME = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
/** A name that ends in a number is an address in an unusual form: 127.1, 0x7f000001, 017700000001. */
const NUMERIC = /(^|\.)(0x[0-9a-f]*|\d+)$/;

/** The addresses that this machine may reach for others: public unicast addresses, and those that the operator adds. */
export function createAddressPolicy({ allowAddresses = [], setting, resolve = resolveBySystem }: AddressPolicyOptions = {}): AddressPolicy {
  const allowed = allowAddresses.map(parseRange);
  const refusalOf = (text: string): string | undefined => {
    // A zone (fe80::1%eth0) has a meaning only on this machine.
    if (isIP(text) === 0 || text.includes('%')) return 'is not a usable address';
    const address = ipaddr.parse(text);
    if (allowed.some(([base, bits]) => base.kind() === address.kind() && address.match([base, bits]))) return undefined;
    if (METADATA.has(text)) return 'is an address of cloud metadata';
    const range = address.range();
    if (range !== 'unicast') return `is not public (${range})`;
    if (address instanceof ipaddr.IPv6 && !address.match(V6_GLOBAL)) return 'is not public (outside 2000::/3)';
    if (address instanceof ipaddr.IPv6 && carriesIpv4(address)) return 'is not public (isatap)';
    return undefined;
  };
  return {
    refusalOf,
    async addressesOf(host) {
      const addresses = isIP(host) === 0 ? await resolveName(host, resolve) : [host];
      for (const address of addresses) {
        const refusal = refusalOf(address);
        if (!refusal) continue;
        const way = setting !== undefined && refusal.startsWith('is not public') ? `; an operator can allow it in ${setting}` : '';
        throw refused(host, `${address === host ? 'this address' : `it resolves to ${address}, which`} ${refusal}${way}`);
      }
      return addresses;
    },
  };
}

/** The lower half of an ISATAP address, which some machines forward to the IPv4 address that it contains; the upper half may be anything. */
function carriesIpv4({ parts: [, , , , flags = 0, mark] }: ipaddr.IPv6): boolean {
  return mark === 0x5efe && (flags & ~0x0200) === 0;
}

/**
 * What is unusual about a host as written, as text. Only plain lower-case names and plain addresses are accepted, so that no host can be read in two
 * ways.
 */
export function oddityOfHost(host: string): string | undefined {
  if (isIP(host) !== 0) return host.includes('%') ? 'it has a zone' : undefined;
  if (host.endsWith('.')) return 'it ends in a dot';
  if (NUMERIC.test(host)) return 'it is an address in an unusual form';
  return HOST_NAME.test(host) ? undefined : 'it is not a plain lower-case host name (write international names in their xn-- form)';
}

/**
 * Why nothing is sent to the host of a URL as it is written; undefined for a plain one. One that the parser had to rewrite (0x7f.1, a wide dot, a tab) can be read in
 * two ways.
 */
export function oddityOfWritten(text: string): string | undefined {
  const written = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1] ?? '';
  const { hostname } = new URL(text);
  const isPlain = written.replace(/:\d*$/, '').toLowerCase() === hostname;
  return isPlain ? undefined : `this host is written in an unusual form; write "${hostname}" if that is meant`;
}

export function refused(target: string, problem: string): Error {
  return failure('NETWORK_REFUSED', { target: target.slice(0, 200), problem });
}

async function resolveName(host: string, resolve: ResolveName): Promise<string[]> {
  const oddity = oddityOfHost(host);
  if (oddity) throw refused(host, `of this host name, ${oddity}`);
  let addresses: string[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw failure('NETWORK_FAILED', { target: host, problem: `the name cannot be resolved (${(error as Error).message})` }, error);
  }
  if (addresses.length === 0) throw failure('NETWORK_FAILED', { target: host, problem: 'the name has no address' });
  return addresses;
}

async function resolveBySystem(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** The parser also takes short forms and octal digits: it reads 10/8 as 0.0.0.10/8, and with that 0.0.0.0, which is this machine. */
function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const base = text.replace(/\/\d+$/, '');
  if (isIP(base) === 0 || base.includes('%')) throw new Error(`"${text}" is neither an address nor a range`);
  if (base !== text) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
