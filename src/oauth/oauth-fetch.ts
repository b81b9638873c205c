import type { FetchLike } from '@modelcontextprotocol/client';
import { createGuardedFetch } from '../network/guarded-fetch.ts';
import { readAddresses } from '../network/read-addresses.ts';
import { checkEndpoint, isLoopback } from './check-endpoint.ts';
import type { ProtectedServer } from './server.ts';

const SETTING = 'LONGSHORE_PLUGIN_ADDRESSES';

const TIMEOUT_MS = 8_000;
const MAX_BYTES = 1024 * 1024;
const EVERYWHERE = ['0.0.0.0/0', '::/0'];
const THIS_MACHINE = ['127.0.0.0/8', '::1'];

/** Addresses of authorization servers that operators allow although they are not public. @throws CONFIG_INVALID */
export function readOAuthAddresses({ [SETTING]: text }: { [SETTING]?: string | undefined }): string[] {
  return readAddresses(SETTING, text);
}

/**
 * A fetch for what a server and its authorization server name. The operator has named the server, and perhaps the authorization server: these may be anywhere. All
 * else has to be at public addresses, at those that the operator allows, or on this machine if the server is. Redirects are left to the caller.
 * @param signal ends all its requests
 */
export function createOAuthFetch(server: Pick<ProtectedServer, 'url' | 'issuer'>, allowAddresses: string[], signal?: AbortSignal): FetchLike {
  const own = new URL(server.url);
  const named = [own.origin, ...(server.issuer === undefined ? [] : [new URL(server.issuer).origin])];
  return async (target, init) => {
    const url = checkEndpoint(String(target), own);
    const others = [...allowAddresses, ...(isLoopback(own) ? THIS_MACHINE : [])];
    const host = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
    const allowed = named.includes(url.origin) ? EVERYWHERE : others;
    await using guarded = createGuardedFetch({ hosts: [host], allowAddresses: allowed, setting: SETTING, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
    return await guarded.fetch(url.href, { ...init, redirect: 'manual', ...(signal && { signal }) });
  };
}
