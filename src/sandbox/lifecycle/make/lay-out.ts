import { randomBytes } from 'node:crypto';
import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkpointName } from '../../engine/labels.ts';
import type { ContainerSpec, CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { copiesOf } from '../base/engine-parts.ts';
import { volumeLimit } from '../../engine/disk-limit.ts';
import { LABEL, sandboxLabels, volumeNameOf } from '../../engine/labels.ts';

/** Where the parts of a sandbox come from. */
export interface Parts {
  files: (to: CopyPlace) => Promise<void>;
  /** They are those of another sandbox. */
  ofAnother?: true;
  /** Copies the checkpoint, and makes the definition of its container. */
  memory?: { copyTo: (to: CopyPlace) => Promise<void>; specOf: (volumeName: string) => Promise<ContainerSpec> };
}
/** The parts of a sandbox on this engine, before any row names them. */
export interface LaidOut {
  volumeName: string;
  /** Id of a container that was never started and has the checkpoint. */
  containerId?: string;
  /** Why there is no such container although `memory` was given. */
  problem?: string;
}

/**
 * Makes a volume and, for the processes, a container. Both have unique names, so several callers may do this at the same time; the first one that changes
 * the row has made the sandbox. The reaper waits longer before it removes them than for other orphans.
 * @param row has the number that was drawn for them
 */
export async function layOut(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'conversationId' | 'fence' | 'containerName' | 'options'>,
  { files, ofAnother, memory }: Parts,
): Promise<LaidOut> {
  const { engine, installation } = context;
  const suffix = randomBytes(4).toString('hex');
  const volumeName = `copy.${volumeNameOf(installation, row.sandboxId)}.${suffix}`;
  const laidOut: LaidOut = { volumeName };
  try {
    const labels = { ...sandboxLabels(installation, row), [LABEL.role]: 'copy' };
    await copiesOf(engine).createVolume(volumeName, labels, await volumeLimit(engine, row.options));
    await files({ volume: volumeName, ...(ofAnother && memory === undefined && { forAnother: true }) });
    if (memory === undefined) return laidOut;
    const spec = await memory.specOf(volumeName);
    laidOut.containerId = await engine.create({ ...spec, name: `copy.${row.containerName}.${suffix}`, labels: { ...spec.labels, [LABEL.role]: 'copy' } });
    await memory.copyTo({ container: laidOut.containerId, checkpoint: checkpointName(0) });
    return laidOut;
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED') || laidOut.containerId === undefined) {
      await discard(context, laidOut);
      throw error;
    }
    await engine.removeContainer(laidOut.containerId);
    return { volumeName, problem: String(error.values['problem']) };
  }
}

export async function discard({ engine, log }: DockerContext, { volumeName, containerId }: LaidOut): Promise<void> {
  try {
    if (containerId !== undefined) await engine.removeContainer(containerId);
    await engine.removeVolume(volumeName);
  } catch (error) {
    log.warn({ volumeName, err: error }, 'what was prepared for a sandbox is left to the reaper');
  }
}
