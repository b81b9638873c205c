import { templatesBeside } from '../agents/load-agents.ts';
import { checkDatabaseUrl, loadConfig, type Config } from '../config.ts';
import type { SandboxOptions } from '../contracts/agent.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import { createLogger, type Logger } from '../log.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { findTemplate } from '../templates/find-template.ts';
import { loadTemplates } from '../templates/load-templates.ts';
import { adoptSandbox } from './adopt-sandbox.ts';
import { createSandboxes } from './backends.ts';
import { destroyExpired } from './destroy-expired.ts';
import type { FreezeOptions, SandboxHandle, Sandboxes } from './sandbox.ts';
import { uploadAssets } from './upload-assets.ts';

export interface OpenSandboxOptions extends Pick<SandboxOptions, 'image' | 'memoryMb' | 'cpus' | 'pids' | 'readOnlyRoot' | 'runtime' | 'assets'> {
  /** Opens one that exists, of the same tenant, whatever rest it is in. A new one when absent. */
  sandboxId?: string;
  /**
   * Name of a template of `LONGSHORE_TEMPLATES`, which holds where nothing is said here. Where workers of this host keep such sandboxes warm, and nothing
   * else is asked for, one of those is taken.
   */
  template?: string;
  /** Milliseconds from now on after which it is destroyed, even if nobody disposes of it. Default one hour. */
  ttlMs?: number;
  /** Default `default`. */
  tenantId?: string;
  /** Default `LONGSHORE_SANDBOX_BACKEND`. */
  backend?: string;
  /** Default `DATABASE_URL`. */
  databaseUrl?: string;
  log?: Logger;
}

/** A sandbox without a conversation. Disposing it destroys it. */
export interface OpenSandbox extends SandboxHandle {
  /** What an earlier life of it lost; absent when nothing was. */
  readonly lost?: string;
  /** Lets it live for at least so many milliseconds from now on. */
  keepalive(milliseconds: number): Promise<void>;
  /** Work in progress keeps it awake, unless the mode is `pause`; returns the tier that it really has. */
  freeze(options?: FreezeOptions): Promise<SandboxTier>;
  /** Where it cannot be put to disk with its processes it is stopped; returns the tier that it really has. */
  hibernate(): Promise<SandboxTier>;
  /** Ends its processes and keeps its files. */
  stop(): Promise<SandboxTier>;
  tier(): Promise<SandboxTier>;
  /** Lets go of it without destroying it; `openSandbox({ sandboxId })` finds it again until its time is over. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const HOUR_MS = 3_600_000;

/**
 * Opens a sandbox for whoever needs one, without Temporal: it takes a Docker engine and Postgres.
 * @throws SANDBOX_NOT_FOUND for an unknown `sandboxId`, TEMPLATE_NOT_FOUND for an unknown template, POSTGRES_UNAVAILABLE, DOCKER_UNAVAILABLE, …
 */
export async function openSandbox(options: OpenSandboxOptions = {}): Promise<OpenSandbox> {
  const config = loadConfig();
  const template = await templateOf(config, options);
  const log = options.log ?? createLogger({ LONGSHORE_LOG_LEVEL: 'warn' });
  const store = await openStore({ url: checkDatabaseUrl(config, options.databaseUrl ?? config.DATABASE_URL), log, poolSize: 2 });
  let sandboxes: Sandboxes | undefined;
  const letGo = async () => {
    await sandboxes?.[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  try {
    sandboxes = await createSandboxes({ config: withBackend(config, options), store, log });
    await destroyExpired({ store, sandboxes, log });
    return await open({ store, sandboxes, template, letGo }, options);
  } catch (error) {
    await letGo();
    throw error;
  }
}

async function templateOf({ LONGSHORE_AGENTS, LONGSHORE_TEMPLATES }: Config, { template }: OpenSandboxOptions): Promise<SandboxOptions> {
  if (template === undefined) return {};
  const directory = LONGSHORE_TEMPLATES ?? templatesBeside(LONGSHORE_AGENTS);
  return findTemplate(await loadTemplates(directory), template, directory).options;
}

function withBackend(config: Config, { backend }: OpenSandboxOptions): Config {
  return backend === undefined ? config : { ...config, LONGSHORE_SANDBOX_BACKEND: backend };
}

interface OpenParts {
  store: Store;
  sandboxes: Sandboxes;
  template: SandboxOptions;
  letGo: () => Promise<void>;
}

async function open({ store, sandboxes, template, letGo }: OpenParts, options: OpenSandboxOptions): Promise<OpenSandbox> {
  const { ttlMs = HOUR_MS, tenantId = 'default', sandboxId: known, assets, image, memoryMb, cpus, pids, readOnlyRoot, runtime } = options;
  if (!(ttlMs > 0)) throw failure('INVALID_ARGUMENT', { what: 'ttlMs', problem: `${ttlMs} is no time to live`, fix: 'Give milliseconds above 0' });
  const container = { ...template, ...defined({ image, memoryMb, cpus, pids, readOnlyRoot, runtime }) };
  if (known !== undefined) await adoptSandbox(store.sandboxes, { sandboxId: known, tenantId });
  const wanted = { sandboxId: known ?? makeId('sbx', Date.now(), Math.random), tenantId, ttlMs };
  const opened = await sandboxes.open({ ...wanted, anyId: known === undefined && options.template !== undefined }, container);
  const { sandboxId } = opened.handle;
  try {
    if (known !== undefined) await store.sandboxes.prolong(sandboxId, ttlMs);
    if (assets) await uploadAssets(opened.handle, assets);
  } catch (error) {
    if (known === undefined) await sandboxes.destroy(sandboxId);
    throw error;
  }
  return {
    ...opened.handle,
    ...(opened.lost !== undefined && { lost: opened.lost }),
    keepalive: (milliseconds) => store.sandboxes.prolong(sandboxId, milliseconds),
    freeze: (how) => sandboxes.freeze(sandboxId, how),
    hibernate: () => sandboxes.hibernate(sandboxId),
    stop: () => sandboxes.stop(sandboxId),
    tier: () => sandboxes.tier(sandboxId),
    release: letGo,
    async [Symbol.asyncDispose]() {
      try {
        await sandboxes.destroy(sandboxId);
      } finally {
        await letGo();
      }
    },
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Partial<Defined<T>>;
}
