import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { layOut, type LaidOut } from './lay-out.ts';

/** Makes a volume with the files of the newest snapshot of a sandbox on this host, to replace a lost volume; undefined when there is no snapshot. */
export async function newestFiles(context: DockerContext, row: SandboxRow): Promise<(LaidOut & { madeAt: string }) | undefined> {
  const { snapshots, hostId } = context;
  const found = (await snapshots.list({ sandboxId: row.sandboxId, hostId })).findLast(({ ready }) => ready);
  if (found === undefined) return undefined;
  const laidOut = await layOut(context, row, { files: (to) => jobsOf(context).copy({ volume: found.volumeName }, to) });
  return { ...laidOut, madeAt: found.createdAt };
}
