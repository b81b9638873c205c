import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../platform/config.ts';
import { failure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import { createDockerSandboxes } from '../sandbox/lifecycle/sandboxes.ts';
import { createLocalSandboxes } from '../sandbox/lifecycle/local-sandboxes.ts';
import { parseArgument } from '../sandbox/options/parse.ts';
import { callback, text } from '../sandbox/options/values.ts';
import type { Sandboxes } from '../sandbox/api/sandbox.ts';

/** What a backend is made of. Rows of other hosts are none of its business; it keeps its own under a host id of its own. */
export interface SandboxBackendParts {
  config: Config;
  store: Store;
  log: Logger;
  /**
   * Who works with them. A `visitor` comes and goes beside workers and has not their environment, so it offers sandboxes no way out: one that did would
   * take it over from them. Default `worker`.
   */
  role?: 'worker' | 'visitor';
}
export type SandboxBackend = (parts: SandboxBackendParts) => Sandboxes | Promise<Sandboxes>;

const backendName = text({ kind: 'the name of a backend', maxLength: 100 });

// One table per process: whoever registers and whoever opens need not know each other.
const BACKENDS = new Map<string, SandboxBackend>([
  ['docker', createDockerSandboxes],
  ['local', createLocalSandboxes],
]);

/**
 * Makes a backend known by a name, for `LONGSHORE_SANDBOX_BACKEND` and `openSandbox`. It has to pass the conformance suite.
 * @throws INVALID_ARGUMENT when another has the name.
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

/** The sandboxes of the backend that the configuration names. @throws CONFIG_INVALID for an unknown one. */
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
