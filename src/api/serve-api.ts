import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openClientParts } from '../client/open-client-parts.ts';
import { parseDuration } from '../common/duration.ts';
import { failure } from '../contracts/errors.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import { readOAuthAddresses } from '../oauth/oauth-fetch.ts';
import { mostOpenFiles } from '../platform/most-open-files.ts';
import { readLimits } from '../platform/read-limits.ts';
import { openTracing } from '../traces/open-tracing.ts';
import { oidcOptionsOf } from './auth/oidc-options.ts';
import { createApi } from './create-api.ts';
import type { ConnectionLimits } from './http/limits.ts';

/**
 * Serves the HTTP API at LONGSHORE_API_ADDRESS until `signal` aborts; then `/readyz` says so for LONGSHORE_API_DRAIN, streams end and their readers go on at
 * another process, and the requests under way are answered. Calls `onReady` with the address when it listens.
 * @throws CONFIG_INVALID when it cannot listen there; POSTGRES_UNAVAILABLE, TEMPORAL_UNAVAILABLE
 */
export async function serveApi(config: Config, options: { log: Logger; version: string; signal: AbortSignal; onReady: (url: string) => void }): Promise<void> {
  const { log, version, signal, onReady } = options;
  const oidc = oidcOptionsOf(config);
  const client = await openClientParts({ log }, config);
  try {
    await client.temporal.client();
    await using tracing = await openTracing(config, { service: 'longshore-serve', log });
    const stopping = new AbortController();
    const { LONGSHORE_CODEC_ORIGINS: codecOrigins, LONGSHORE_PUBLIC_URL: publicUrl, LONGSHORE_PREVIEW_URL: previewUrl } = config;
    const limits = { tenants: readLimits(config.LONGSHORE_LIMITS) ?? {}, connections: await connectionLimits(config, log) };
    const oauthAddresses = readOAuthAddresses(config);
    const api = await createApi({
      client,
      log,
      version,
      stopping: stopping.signal,
      limits,
      codecOrigins,
      oauthAddresses,
      publicUrl,
      previewUrl,
      oidc,
      tracing,
    });
    const { hostname, port } = new URL(`http://${config.LONGSHORE_API_ADDRESS}`);
    try {
      await api.listen({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) });
    } catch (error) {
      // What it has begun would keep the process alive.
      await api.close();
      const { message } = error as Error;
      throw failure('CONFIG_INVALID', { name: 'LONGSHORE_API_ADDRESS', problem: message, fix: 'Choose a free port of this machine' }, error);
    }
    onReady(`http://${hostname}:${(api.server.address() as AddressInfo).port}`);
    if (!signal.aborted) await once(signal, 'abort');
    stopping.abort();
    const { LONGSHORE_API_DRAIN: drain } = config;
    if (drain !== '0') await sleep(parseDuration(drain));
    await api.close();
  } finally {
    await Promise.all([client.temporal.close(), client.store[Symbol.asyncDispose]()]);
  }
}

/** Files that the process needs for all else: connections to Postgres, Temporal and workers, and what it reads. */
const OTHER_FILES = 200;

/** As many connections as are set, or as the system lets the process have. */
async function connectionLimits(
  { LONGSHORE_API_CONNECTIONS: wanted, LONGSHORE_API_CONNECTIONS_PER_ADDRESS: perAddress }: Config,
  log: Logger,
): Promise<ConnectionLimits> {
  const files = await mostOpenFiles();
  const total = Math.max(1, Math.min(wanted, (files ?? Infinity) - OTHER_FILES));
  if (total < wanted)
    log.warn({ files, connections: total, wanted }, 'the limit of open files (ulimit -n) leaves less connections than LONGSHORE_API_CONNECTIONS');
  return { total, perAddress: perAddress === 0 ? Infinity : perAddress };
}
