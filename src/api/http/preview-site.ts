import { createHash } from 'node:crypto';

/** Hosts of previews: one for each port of each sandbox. */
export interface PreviewSite {
  /** The origin of a port: `https://p-….preview.example.org`. */
  originOf(conversationId: string, port: number): string;
  /** Whether a request is for one of the hosts, whether or not there is a preview. */
  has(host: string | undefined): boolean;
  /** Whether the host is that of this port. */
  isOf(host: string | undefined, conversationId: string, port: number): boolean;
}

/** Requests for these hosts get this before their path, and so reach no other route. */
export const INNER_PATH = '/.longshore/preview-host';
const LABEL_LENGTH = 32;

/** @param address LONGSHORE_PREVIEW_URL, such as `https://*.preview.example.org` */
export function createPreviewSite(address: string): PreviewSite {
  const { hostname } = new URL(address.replace('*', 'any'));
  const domain = hostname.slice('any.'.length);
  const labelOf = (conversationId: string, port: number) =>
    `p-${createHash('sha256').update(`${conversationId} ${port}`).digest('hex').slice(0, LABEL_LENGTH)}`;
  return {
    originOf: (conversationId, port) => address.replace('*', labelOf(conversationId, port)).replace(/\/+$/, ''),
    has: (host) => nameIn(host).endsWith(`.${domain}`) || nameIn(host) === domain,
    isOf: (host, conversationId, port) => nameIn(host) === `${labelOf(conversationId, port)}.${domain}`,
  };
}

/** The name in a header `host`, as names are compared. */
function nameIn(host = ''): string {
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}
