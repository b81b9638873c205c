import { OWN_USER } from './connection/as-user.ts';
import type { SandboxHandle } from './sandbox.ts';

/** The same sandbox, in which commands, code and terminals of its own user begin in another directory unless they say where. */
export function inWorkDirectory(handle: SandboxHandle, cwd: string | undefined): SandboxHandle {
  if (cwd === undefined) return handle;
  const begin = <T extends { user?: string }>(options: T): T => ((options.user ?? OWN_USER) === OWN_USER ? { cwd, ...options } : options);
  return {
    ...handle,
    run: (command, options = {}) => handle.run(command, begin(options)),
    start: (command, options = {}) => handle.start(command, begin(options)),
    openPty: (options) => handle.openPty(begin(options)),
    runCode: (code, options) => handle.runCode(code, begin(options)),
  };
}
