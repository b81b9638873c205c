import type { Readable } from 'node:stream';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { destroy } from '../remove/destroy.ts';
import { checkDisk } from '../room/wait-for-disk.ts';
import { addSandbox, taken } from './restore.ts';

/** Makes a sandbox of a gzipped tar of everything under `/home`. Its row is made after the files, so that no caller opens an incomplete one. */
export async function unpackHome(context: DockerContext, content: Readable, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  await replaceEarlier(context, owner);
  await checkDisk(context, owner, options);
  await addSandbox(context, owner, { ...options } satisfies SandboxOptions, { files: (to) => jobsOf(context).unpack(content, to) });
}

/** An attempt that has not come to its end has left a sandbox without a conversation. */
async function replaceEarlier(context: DockerContext, { sandboxId, tenantId }: SandboxOwner): Promise<void> {
  const row = await context.rows.get(sandboxId);
  if (row === undefined) return;
  if (row.conversationId !== undefined || row.tenantId !== tenantId || row.expiresAt === undefined) throw taken(sandboxId);
  await context.inTurn(sandboxId, () => destroy(context, sandboxId));
  await context.rows.remove(sandboxId);
}
