import type { SandboxOptions } from '../../contracts/agent.ts';
import { readEnvironment } from '../../platform/config.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import { resolveReferences } from '../api/references.ts';
import type { OpenedSandbox } from '../api/sandbox.ts';

/** Opens an existing sandbox as it is, for a caller that is not its conversation. Wakes it. */
export function openVisited(sandboxes: Sandboxes, { sandboxId, conversationId, tenantId, options }: SandboxRow): Promise<OpenedSandbox> {
  return sandboxes.open({ sandboxId, tenantId, anyId: false, ...(conversationId !== undefined && { conversationId }) }, optionsHere(options));
}

/** Leaves out secrets that this process's environment does not have; commands that need them run in the worker. */
function optionsHere(options: SandboxOptions): SandboxOptions {
  const { secrets = {}, ...rest } = options;
  const known = Object.entries(secrets).filter(([name, text]) => 'values' in resolveReferences({ [name]: text }, readEnvironment));
  return { ...rest, secrets: Object.fromEntries(known) };
}
