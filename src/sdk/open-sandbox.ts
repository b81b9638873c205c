import { templatesBeside } from '../definitions/agents/load-agents.ts';
import { loadConfig, type Config } from '../platform/config.ts';
import type { SandboxOptions } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import { deferred } from '../common/deferred.ts';
import { findTemplate } from '../definitions/templates/find-template.ts';
import { loadTemplates } from '../definitions/templates/load-templates.ts';
import { adoptSandbox } from '../sandbox/api/adopt-sandbox.ts';
import { destroyExpired } from './destroy-expired.ts';
import { cleanUp } from '../platform/clean-up.ts';
import { createOpenSandbox, type OpenSandbox } from './opened-sandbox.ts';
import { parseOpenOptions } from './open-options.ts';
import type { OpenedSandbox } from '../sandbox/api/sandbox.ts';
import { HOUR_MS } from './sandbox-control.ts';
import { uploadAssets } from '../sandbox/api/upload-assets.ts';
import { openParts, type OpenParts, type WhereOptions } from './with-sandboxes.ts';

/** What a new sandbox is made of; for one that exists it is fixed. */
type NewSandboxOptions = Pick<
  SandboxOptions,
  | 'template'
  | 'image'
  | 'memoryMb'
  | 'cpus'
  | 'pids'
  | 'diskMb'
  | 'readOnlyRoot'
  | 'runtime'
  | 'egress'
  | 'env'
  | 'secrets'
  | 'metadata'
  | 'workDirectory'
  | 'onTtl'
>;

/**
 * A template is one of `LONGSHORE_TEMPLATES`, and holds where nothing is said here. Where workers of this host keep such sandboxes warm, and nothing else is
 * asked for, one of those is taken.
 */
export interface OpenSandboxOptions extends NewSandboxOptions, WhereOptions, Pick<SandboxOptions, 'assets'> {
  /** Opens one that exists, of the same tenant, whatever rest it is in. A new one when absent. What only holds for a new one is refused beside it. */
  sandboxId?: string;
  /** Milliseconds from now on after which it is destroyed (or what `onTtl` says), even if nobody disposes of it. Default one hour, at most 100 years. */
  ttlMs?: number;
  /**
   * Aborts the open. It rejects with INTERRUPTED as soon as what it had made is removed; a sandbox that existed before stays as it is. Once the sandbox is open,
   * the signal has no effect.
   */
  signal?: AbortSignal;
}

/**
 * Opens a sandbox without a conversation, and without Temporal: it takes a Docker engine and Postgres.
 * @throws INVALID_ARGUMENT for an option that is not valid, SANDBOX_NOT_FOUND for an unknown `sandboxId`, TEMPLATE_NOT_FOUND for an unknown template,
 * INTERRUPTED when `signal` was aborted, POSTGRES_UNAVAILABLE, DOCKER_UNAVAILABLE, …
 */
export async function openSandbox(given: OpenSandboxOptions = {}): Promise<OpenSandbox> {
  const options = parseOpenOptions(given);
  const { signal } = options;
  throwIfAborted(signal);
  const template = await templateOf(loadConfig(), options);
  throwIfAborted(signal);
  const parts = await openParts(options, 'worker');
  try {
    throwIfAborted(signal);
    await destroyExpired(parts);
    throwIfAborted(signal);
    return createOpenSandbox(parts, await open(parts, template, options));
  } catch (error) {
    await parts[Symbol.asyncDispose]();
    throw error;
  }
}

async function templateOf({ LONGSHORE_AGENTS, LONGSHORE_TEMPLATES }: Config, { template }: OpenSandboxOptions): Promise<SandboxOptions> {
  if (template === undefined) return {};
  const directory = LONGSHORE_TEMPLATES ?? templatesBeside(LONGSHORE_AGENTS);
  return findTemplate(await loadTemplates(directory), template, directory).options;
}

async function open(parts: OpenParts, template: SandboxOptions, options: OpenSandboxOptions): Promise<OpenedSandbox> {
  const { store, sandboxes, tenantId } = parts;
  const { ttlMs = HOUR_MS, sandboxId: known, assets, tenantId: _tenant, backend: _backend, databaseUrl: _url, log: _log, signal, ...wished } = options;
  if (known !== undefined) await adoptSandbox(store.sandboxes, { sandboxId: known, tenantId });
  const wanted = { sandboxId: known ?? makeId('sbx', Date.now(), Math.random), tenantId, ttlMs };
  const opened = await sandboxes.open({ ...wanted, anyId: known === undefined && options.template !== undefined }, { ...template, ...wished });
  const { sandboxId } = opened.handle;
  try {
    throwIfAborted(signal);
    if (known !== undefined) await store.sandboxes.prolong(sandboxId, ttlMs);
    await unlessAborted(signal, async () => {
      if (wished.workDirectory !== undefined) await opened.handle.createDirectory(wished.workDirectory);
      if (assets) await uploadAssets(opened.handle, assets);
    });
    return opened;
  } catch (error) {
    if (known === undefined) await discard(parts, sandboxId);
    throw error;
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw failure('INTERRUPTED', { callId: 'openSandbox' }, signal.reason);
}

/** Work in a sandbox that may take long. After an abort it ends with the sandbox, or with the connection to it. */
async function unlessAborted(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
  if (!signal) return work();
  const { promise: aborted, resolve } = deferred<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work(), aborted]);
    throwIfAborted(signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** A new sandbox that its caller does not get. The error of the open is the one to report; what cannot be removed expires. */
async function discard({ store, sandboxes, log }: OpenParts, sandboxId: string): Promise<void> {
  const remove = async () => {
    await sandboxes.destroy(sandboxId);
    await store.sandboxes.remove(sandboxId);
  };
  await cleanUp(remove, { log, what: 'a sandbox that was refused', sandboxId });
}
