import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Backend } from './backends.ts';

export let handle: SandboxHandle;
/** A directory of the test's own in the sandbox. */
export let home: string;

/** Gives the tests of a backend one sandbox, and each of them a directory of its own. */
export function useSandbox(open: () => Promise<Backend>): void {
  let backend: Backend;
  let base: string;
  let directories = 0;
  beforeAll(async () => {
    backend = await open();
    ({ handle } = backend);
    // Where a sandbox has its home is its backend's affair.
    base = (await handle.run('pwd')).stdout.text.trim();
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    home = `${base}/test-${(directories += 1)}`;
    await handle.createDirectory(home);
  });
}

export const at = (name: string): string => `${home}/${name}`;
/** What a command prints that runs in the test's directory. */
export const shell = async (command: string): Promise<string> => (await handle.run(command, { cwd: home })).stdout.text;
