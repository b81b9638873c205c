import type { SandboxOptions } from '../../contracts/agent.ts';

/** A kind of sandbox: its content, its size, and how many of them wait. */
export interface Template {
  name: string;
  /** Options of a sandbox where its agent sets nothing else. `image` is absent for the standard image. */
  options: SandboxOptions & { template: string };
  /** How its image is built; absent when nothing has to be built. */
  build?: TemplateBuild;
  /** Number of sandboxes that are kept warm on each host. */
  pool: number;
}

export interface TemplateBuild {
  /** The image that it is built on, which contains the supervisor. When absent and without a Dockerfile, the standard image. */
  base?: string;
  /** Path of a Dockerfile; its directory is the context. */
  dockerfile?: string;
  /** Debian packages. */
  packages: string[];
  users: { name: string; uid?: number | undefined }[];
  /** Bash commands that run after the packages are installed. */
  setup: { run: string; user: string }[];
  /** Created if it does not exist. */
  workDirectory?: string;
}
