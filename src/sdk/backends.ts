import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../platform/config.ts';
import { failure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import { createDockerSandboxes } from '../sandbox/lifecycle/docker-sandboxes.ts';
import { createLocalSandboxes } from '../sandbox/lifecycle/local-sandboxes.ts';
import { parseArgument } from '../sandbox/options/parse.ts';
import { callback, text } from '../sandbox/options/values.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';

/** What a backend is given. It must ignore the rows of other hosts, and store its own rows under a host id that no other backend uses. */
export interface SandboxBackendParts {
  config: Config;
  store: Store;
  log: Logger;
  /**
   * The kind of process that uses the sandboxes. A `visitor` works for a short time beside workers and does not have their environment. It therefore does not
   * serve egress: the supervisor sends the guest's connections to the newest client, so a visitor would take them from the workers. Default `worker`.
   */
  role?: 'worker' | 'visitor';
}
export type SandboxBackend = (parts: SandboxBackendParts) => Sandboxes | Promise<Sandboxes>;

const backendName = text({ kind: 'the name of a backend', maxLength: 100 });

// One table per process, so that the code that opens a sandbox does not depend on the code that registers a backend.
const BACKENDS = new Map<string, SandboxBackend>([
  ['docker', createDockerSandboxes],
  ['local', createLocalSandboxes],
]);

/**
 * Registers a backend under a name, for `LONGSHORE_SANDBOX_BACKEND` and `openSandbox`. The backend must pass the conformance suite.
 * @throws INVALID_ARGUMENT when another backend has the name.
 */
export function registerSandboxBackend(name: string, backend: SandboxBackend): void {
  parseArgument(backendName, name, 'registerSandboxBackend.name');
  parseArgument(callback, backend, 'registerSandboxBackend.backend');
  const present = BACKENDS.get(name);
  if (present !== undefined && present !== backend) {
    throw failure('INVALID_ARGUMENT', { what: 'registerSandboxBackend', problem: `there is a backend "${name}" already`, fix: 'Choose another name' });
  }
  BACKENDS.set(name, backend);
}

/** The sandboxes of the backend that the configuration names. @throws CONFIG_INVALID for an unknown backend. */
export async function createSandboxes(parts: SandboxBackendParts): Promise<Sandboxes> {
  const backend = await findBackend(parts.config.LONGSHORE_SANDBOX_BACKEND);
  return backend(parts);
}

async function findBackend(name: string): Promise<SandboxBackend> {
  const known = BACKENDS.get(name);
  if (known) return known;
  if (name.startsWith('.') || isAbsolute(name)) return loadBackend(name);
  throw unusable(name, 'is not a known backend', `Known: ${[...BACKENDS.keys()].join(', ')}; or name a module, such as ./backend.ts`);
}

async function loadBackend(path: string): Promise<SandboxBackend> {
  const fix = 'Its default export has to be a function that makes the sandboxes';
  const loaded = (await import(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    throw unusable(path, `cannot be loaded (${error instanceof Error ? error.message : String(error)})`, fix);
  })) as { default?: unknown };
  if (typeof loaded.default !== 'function') throw unusable(path, 'exports no backend', fix);
  return loaded.default as SandboxBackend;
}

function unusable(name: string, problem: string, fix: string): Error {
  return failure('CONFIG_INVALID', { name: 'LONGSHORE_SANDBOX_BACKEND', problem: `"${name}" ${problem}`, fix });
}
