import type { SandboxOptions } from '../../contracts/agent.ts';
import { DEFAULT_USER } from '../protocol/as-user.ts';
import type { WorkerHandle } from '../api/sandbox.ts';

interface Place {
  user?: string;
  cwd?: string;
  env?: Record<string, string>;
}

/** Adds the sandbox's environment to commands, code and terminals, and its work directory to those of its default user. Options of a call win. */
export function withSandboxDefaults(handle: WorkerHandle, { workDirectory, env }: Pick<SandboxOptions, 'workDirectory' | 'env'>): WorkerHandle {
  if (workDirectory === undefined && env === undefined) return handle;
  const fill = <T extends Place>(options: T): T => ({
    ...options,
    ...(workDirectory !== undefined && (options.user ?? DEFAULT_USER) === DEFAULT_USER && { cwd: options.cwd ?? workDirectory }),
    ...(env && { env: { ...env, ...options.env } }),
  });
  return {
    ...handle,
    run: (command, options = {}) => handle.run(command, fill(options)),
    start: (command, options = {}) => handle.start(command, fill(options)),
    openPty: (options) => handle.openPty(fill(options)),
    runCode: (code, options) => handle.runCode(code, fill(options)),
  };
}
