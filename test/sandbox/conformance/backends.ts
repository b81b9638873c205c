import type { SandboxHandle } from '../../../src/sandbox/sandbox.ts';
import { createTestSandboxes } from '../docker/support.ts';

/** A backend under test: it opens one fresh sandbox, and disposing it removes everything. */
export interface Backend {
  handle: SandboxHandle;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Every backend that has to keep the rules, by name. */
export const BACKENDS: [name: string, open: () => Promise<Backend>][] = [['docker', openDocker]];

async function openDocker(): Promise<Backend> {
  const sandboxes = await createTestSandboxes();
  const { handle } = await sandboxes.sandboxes.open(sandboxes.newOwner(), {});
  return { handle, [Symbol.asyncDispose]: () => sandboxes[Symbol.asyncDispose]() };
}
