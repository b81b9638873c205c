import type { SandboxOptions } from '../../contracts/agent.ts';
import { readEnvironment } from '../../platform/config.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import { resolveReferences } from '../api/references.ts';
import type { MayWake, OpenedSandbox } from '../api/sandbox.ts';

/**
 * Opens an existing sandbox as it is, for a caller that is not its conversation. Wakes it.
 * @param mayWake throws while a pause holds it: neither the open nor a later operation of the visit wakes it then
 */
export function openVisited(
  sandboxes: Sandboxes,
  { sandboxId, conversationId, tenantId, options }: SandboxRow,
  { mayWake }: { mayWake?: MayWake } = {},
): Promise<OpenedSandbox> {
  const owner = { sandboxId, tenantId, anyId: false, ...(conversationId !== undefined && { conversationId }), ...(mayWake && { mayWake }) };
  return sandboxes.open(owner, optionsHere(options));
}

/** Leaves out secrets that this process's environment does not have; commands that need them run in the worker. */
function optionsHere(options: SandboxOptions): SandboxOptions {
  const { secrets = {}, ...rest } = options;
  const known = Object.entries(secrets).filter(([name, text]) => 'values' in resolveReferences({ [name]: text }, readEnvironment));
  return { ...rest, secrets: Object.fromEntries(known) };
}
