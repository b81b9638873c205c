import type { SandboxHandle } from './sandbox.ts';

/** The same sandbox, in which commands, code and terminals begin in another directory unless they say where. */
export function inWorkDirectory(handle: SandboxHandle, cwd: string | undefined): SandboxHandle {
  if (cwd === undefined) return handle;
  return {
    ...handle,
    run: (command, options) => handle.run(command, { cwd, ...options }),
    start: (command, options) => handle.start(command, { cwd, ...options }),
    openPty: (options) => handle.openPty({ cwd, ...options }),
    runCode: (code, options) => handle.runCode(code, { cwd, ...options }),
  };
}
