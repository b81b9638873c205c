import type { Config } from '../../platform/config.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import { createEngine } from '../engine/docker/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { createSandboxesOf, type SandboxesOptions } from './sandboxes.ts';

export interface DockerSandboxesOptions extends SandboxesOptions {
  config: SandboxesOptions['config'] & Pick<Config, 'DOCKER_HOST'>;
  /** Default: the engine of `DOCKER_HOST`. */
  engine?: Engine;
}

/** The sandboxes of a Docker engine. */
export function createDockerSandboxes({ engine, ...options }: DockerSandboxesOptions): Sandboxes {
  return createSandboxesOf(engine ?? createEngine(options.config.DOCKER_HOST), options);
}
