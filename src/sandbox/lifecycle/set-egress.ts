import type { SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { ownRow, type DockerContext } from './base/docker-context.ts';

/** Replaces the egress rules in the sandbox's row, and in the connection of this process if there is one. */
export async function setEgress(context: DockerContext, sandboxId: string, rules: NonNullable<SandboxOptions['egress']>): Promise<void> {
  const { state } = await ownRow(context, sandboxId);
  if (state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
  await context.rows.setEgress(sandboxId, rules);
  await context.connections.renew(sandboxId);
}
