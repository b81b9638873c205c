import { join } from 'node:path';
import Docker from 'dockerode';
import type { TemporaryStack } from '../scripts/temporary-stack.ts';
import type { ConnectOptions } from '../src/client.ts';
import type { SandboxTier } from '../src/contracts/conversation.ts';
import { createLogger, type Logger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { Sandboxes } from '../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Store } from '../src/store/store.ts';

/** What every benchmark works with. */
export interface BenchParts extends AsyncDisposable {
  stack: TemporaryStack;
  log: Logger;
  store: Store;
  sandboxes: Sandboxes;
  /** The engine without Longshore; for baselines. */
  docker: Docker;
}

export const AGENTS = join(import.meta.dirname, 'agents');

export async function openParts(stack: TemporaryStack): Promise<BenchParts> {
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  const store = await openStore({ url: stack.config.DATABASE_URL, log });
  const sandboxes = createDockerSandboxes({ config: stack.config, store, log });
  return {
    stack,
    log,
    store,
    sandboxes,
    docker: connectDocker(stack.config.DOCKER_HOST),
    async [Symbol.asyncDispose]() {
      await sandboxes[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Options of a client of the installation that is measured. */
export function clientOptions({ config }: TemporaryStack, log: Logger): ConnectOptions {
  return { temporalAddress: config.TEMPORAL_ADDRESS, databaseUrl: config.DATABASE_URL, taskQueue: config.LONGSHORE_TASK_QUEUE, agents: AGENTS, log };
}

/** Waits until a sandbox has the tier that is measured. It may stay awake for work in progress, or be stopped where it cannot hibernate. */
export async function toTier(wanted: SandboxTier, move: Promise<SandboxTier>): Promise<void> {
  const tier = await move;
  if (tier !== wanted) throw new Error(`the sandbox is ${tier}, and not ${wanted}`);
}

function connectDocker(host: string | undefined): Docker {
  const url = new URL(host ?? 'unix:///var/run/docker.sock');
  return url.protocol === 'unix:' ? new Docker({ socketPath: url.pathname }) : new Docker({ protocol: 'http', host: url.hostname, port: url.port || '2375' });
}
