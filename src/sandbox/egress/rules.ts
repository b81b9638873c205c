import { isIP } from 'node:net';
import type { EgressRule, SandboxOptions } from '../../contracts/agent.ts';
import { oddityOfHost } from '../../network/address-policy.ts';

const WEB_PORTS = [80, 443];
/** Default ports of rules that add credentials: without TLS these are not sent, unless the rule says so. */
const SECURE_PORTS = [443];

export interface EgressTarget {
  host: string;
  port: number;
}

/** The rule that permits a connection, or the reason why none does. */
export type EgressMatch = { rule: EgressRule } | { refusal: string };

/** The first rule that has the port and names the host, exactly or as `*.domain` for all names below it. */
export function findRule(egress: NonNullable<SandboxOptions['egress']>, { host, port }: EgressTarget): EgressMatch {
  const named = egress.map((rule) => (typeof rule === 'string' ? { host: rule } : rule)).filter((rule) => names(rule.host, host));
  const rule = named.find((candidate) => portsOf(candidate).includes(port));
  if (rule) return { rule };
  if (named.length === 0) return { refusal: 'this host is not on the list of the sandbox' };
  return { refusal: `of this host only port ${named.flatMap(portsOf).join(', ')} is on the list` };
}

function names(pattern: string, host: string): boolean {
  const wanted = pattern.toLowerCase();
  return wanted.startsWith('*.') ? isIP(host) === 0 && host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1 : host === wanted;
}

function portsOf(rule: EgressRule): number[] {
  return rule.ports ?? (addsHeaders(rule) ? SECURE_PORTS : WEB_PORTS);
}

export function addsHeaders({ headers = {} }: EgressRule): boolean {
  return Object.keys(headers).length > 0;
}

/** Parses `host:port`, the target of a proxy request. A text that another parser could read in another way is refused, not corrected. */
export function parseTarget(text: string, defaultPort?: number): EgressTarget | { refusal: string } {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^[\]:@/?#\s]+))(?::(\d{1,5}))?$/i.exec(text);
  const host = (parts?.[1] ?? parts?.[2] ?? '').toLowerCase();
  const port = parts?.[3] === undefined ? defaultPort : Number(parts[3]);
  if (!parts || port === undefined || port < 1 || port > 65_535) return { refusal: 'this is not a host with a port' };
  const oddity = oddityOfHost(host);
  return oddity === undefined ? { host, port } : { refusal: `of this host name, ${oddity}` };
}
