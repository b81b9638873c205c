import type { SandboxOptions } from '../../contracts/agent.ts';

/** A kind of sandbox: what is in it, how big it is, how many of them wait. */
export interface Template {
  name: string;
  /** What a sandbox is opened with, where its agent says nothing else. `image` is absent for the standard image. */
  options: SandboxOptions & { template: string };
  /** How its image is made; absent when there is nothing to make. */
  build?: TemplateBuild;
  /** Sandboxes kept warm on each host. */
  pool: number;
}

export interface TemplateBuild {
  /** What it is built on: an image that contains the supervisor. The standard image when absent and without a Dockerfile. */
  base?: string;
  /** Path of a Dockerfile; its directory is the context. */
  dockerfile?: string;
  /** Debian packages. */
  packages: string[];
  users: { name: string; uid?: number | undefined }[];
  /** Bash commands, run after the packages are there. */
  setup: { run: string; user: string }[];
  /** Made if it is not there. */
  workDirectory?: string;
}
