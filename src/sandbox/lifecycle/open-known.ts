import type { SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { readEnvironment } from '../../platform/config.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { resolveReferences } from '../api/references.ts';
import type { MayWake, OpenedSandbox, WorkerHandle } from '../api/sandbox.ts';
import { containerNameOf } from '../engine/labels.ts';
import { checkedHandle } from '../options/checked-handle.ts';
import type { DockerContext } from './base/docker-context.ts';
import { createWakingHandle } from './handle.ts';
import { bringUpSandbox } from './rest/bring-up-sandbox.ts';
import { withSandboxDefaults } from './with-defaults.ts';

export async function openKnown(
  context: DockerContext,
  { sandboxId, options }: Pick<SandboxRow, 'sandboxId' | 'options'>,
  { cause, mayWake }: { cause?: string; mayWake?: MayWake | undefined } = {},
): Promise<OpenedSandbox> {
  const judge = mayWake && (async () => (await mayWake(), 'wake' as const));
  const { lost } = await context.inTurn(sandboxId, async () => {
    // It may have been paused since the caller looked.
    await mayWake?.();
    return bringUpSandbox(context, sandboxId, 'open', { known: cause, ...(judge && { judge }) });
  });
  // Not within the turn: a sandbox that another caller freezes now answers late, and it must be possible to destroy it meanwhile.
  const target = { sandboxId, containerName: containerNameOf(context.installation, sandboxId) };
  await context.work.perform(target, (connection) => connection.ping(), mayWake);
  return { handle: handleFor(context, target, options, mayWake), ...(lost !== undefined && { lost }) };
}

export function handleFor(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'containerName'>,
  options: SandboxOptions,
  mayWake?: MayWake,
): WorkerHandle {
  const handle = withSandboxDefaults(createWakingHandle(context, row, secretsOf(options), mayWake), options);
  return checkedHandle({ ...handle, fence: () => context.connections.fence(row.sandboxId) });
}

/** The values of a sandbox's secrets by name. Its row contains only references to the environment of the process. */
export function secretsOf({ secrets = {} }: SandboxOptions): Record<string, string> {
  const resolved = resolveReferences(secrets, readEnvironment);
  if ('values' in resolved) return resolved.values;
  throw failure('CONFIG_INVALID', { name: resolved.missing, problem: 'it is not set, and a secret of the sandbox needs it', fix: 'Set it for the worker' });
}
