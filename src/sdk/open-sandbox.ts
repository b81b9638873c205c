import { templatesBeside } from '../definitions/agents/load-agents.ts';
import { loadConfig, type Config } from '../platform/config.ts';
import type { SandboxOptions } from '../contracts/agent.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { failure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import { deferred } from '../common/deferred.ts';
import { findTemplate } from '../definitions/templates/find-template.ts';
import { loadTemplates } from '../definitions/templates/load-templates.ts';
import { adoptSandbox } from '../sandbox/api/adopt-sandbox.ts';
import { cleanUp } from '../platform/clean-up.ts';
import { createOpenSandbox, type OpenSandbox } from './opened-sandbox.ts';
import { parseOpenOptions } from './open-options.ts';
import type { OpenedSandbox } from '../sandbox/api/sandbox.ts';
import { HOUR_MS } from './sandbox-control.ts';
import { untilRoom } from '../sandbox/api/until-room.ts';
import { uploadAssets } from '../sandbox/api/upload-assets.ts';
import { removeExpiredBeside } from './remove-expired-beside.ts';
import { openParts, type OpenParts } from './with-sandboxes.ts';
import type { OpenSandboxOptions } from './option-types.ts';

/**
 * Opens a sandbox without a conversation and without Temporal. Needs a Docker engine and Postgres.
 * @throws INVALID_ARGUMENT for an option that is not valid, SANDBOX_NOT_FOUND for an unknown `sandboxId`, TEMPLATE_NOT_FOUND for an unknown template,
 * INTERRUPTED when `signal` was aborted, POSTGRES_UNAVAILABLE, DOCKER_UNAVAILABLE, …
 */
export async function openSandbox(given: OpenSandboxOptions = {}): Promise<OpenSandbox> {
  const options = parseOpenOptions(given);
  const { signal } = options;
  throwIfAborted(signal);
  const template = await templateOf(loadConfig(), options);
  throwIfAborted(signal);
  let parts = await openParts(options, 'worker');
  try {
    throwIfAborted(signal);
    parts = await removeExpiredBeside(parts, options.sandboxId);
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
  if (known !== undefined) {
    await adoptSandbox(store.sandboxes, { sandboxId: known, tenantId });
    // Also now: to bring it up may take longer than it has left.
    await store.sandboxes.prolong(known, ttlMs);
  }
  const wanted = { sandboxId: known ?? makeId('sbx', Date.now(), Math.random), tenantId, ttlMs };
  const owner = { ...wanted, anyId: known === undefined && options.template !== undefined };
  const opened = await untilRoom(() => sandboxes.open(owner, { ...template, ...withoutUndefined(wished) }), { signal }).catch(async (error: unknown) => {
    if (signal?.aborted && known === undefined) await leaveQueue(parts, owner.sandboxId);
    throwIfAborted(signal);
    throw error;
  });
  const { sandboxId } = opened.handle;
  try {
    if (known !== undefined) await store.sandboxes.prolong(sandboxId, ttlMs);
    throwIfAborted(signal);
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

/** Stops waiting for the work when the signal is aborted. The work itself then ends when the sandbox is removed or the connection is closed. */
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

/** One that has waited for memory or disk would stand before others for half a minute more. Does not reject. */
async function leaveQueue({ store, log }: OpenParts, sandboxId: string): Promise<void> {
  await store.roomQueue.leave(sandboxId).catch((error: unknown) => log.warn({ sandboxId, err: error }, 'the place of an aborted open in the queue is left'));
}

/** Removes a new sandbox whose open has failed. Does not reject: the error of the open is the one to report. What cannot be removed expires. */
async function discard({ store, sandboxes, log }: OpenParts, sandboxId: string): Promise<void> {
  const remove = async () => {
    await sandboxes.destroy(sandboxId);
    await store.sandboxes.remove(sandboxId);
  };
  await cleanUp(remove, { log, what: 'a sandbox that was refused', sandboxId });
}
