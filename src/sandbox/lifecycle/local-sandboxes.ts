import { join } from 'node:path';
import { readEnvironment, type Config } from '../../platform/config.ts';
import { failure } from '../../contracts/errors.ts';
import { createSandboxesOf, type SandboxesOptions } from './sandboxes.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import { createLocalEngine } from '../engine/local/engine.ts';

export interface LocalSandboxesOptions extends Omit<SandboxesOptions, 'config' | 'terms'> {
  config: SandboxesOptions['config'] & Pick<Config, 'LONGSHORE_HOME' | 'LONGSHORE_LOCAL_IN_PRODUCTION' | 'NODE_ENV'>;
}

export const LOCAL_WARNING =
  'the sandbox backend "local" is for development only: commands of the model run on this machine as this user (for root, as an unprivileged user of their own), with its files, its network and no limits';

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Sandboxes without containers. Logs a warning at every start. Refused in production unless LONGSHORE_LOCAL_IN_PRODUCTION is `yes`. */
export function createLocalSandboxes({ config, log, ...options }: LocalSandboxesOptions): Sandboxes {
  if (config.NODE_ENV === 'production' && config.LONGSHORE_LOCAL_IN_PRODUCTION !== 'yes') {
    throw failure('CONFIG_INVALID', {
      name: 'LONGSHORE_SANDBOX_BACKEND',
      problem: `"local" isolates nothing, and NODE_ENV is "production"`,
      fix: 'Use "docker", or force it with LONGSHORE_LOCAL_IN_PRODUCTION=yes',
    });
  }
  const root = join(config.LONGSHORE_HOME, 'local', config.LONGSHORE_INSTALLATION);
  log.warn({ root }, LOCAL_WARNING);
  return createSandboxesOf(createLocalEngine({ root, searchPath: readEnvironment('PATH') ?? DEFAULT_PATH }), {
    ...options,
    log,
    terms: { watchDisk: false },
    // Rows identify a host by its id. The Docker engine of the same host must not treat local sandboxes as its own, nor the reverse.
    config: { ...config, LONGSHORE_HOST_ID: localHostId(config.LONGSHORE_HOST_ID) },
  });
}

function localHostId(hostId: string): string {
  return `${hostId}/local`;
}
