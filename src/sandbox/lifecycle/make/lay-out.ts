import { randomBytes } from 'node:crypto';
import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkpointName } from '../../engine/labels.ts';
import type { ContainerSpec, Place } from '../../engine/engine.ts';
import type { DockerContext } from '../base/context.ts';
import { volumeLimit } from '../../engine/disk-limit.ts';
import { LABEL, sandboxLabels, volumeNameOf } from '../../engine/labels.ts';

/** Where the parts of a sandbox come from. */
export interface Parts {
  files: (to: Place) => Promise<void>;
  /** With the definition of the container that it is for. */
  memory?: { copyTo: (to: Place) => Promise<void>; specOf: (volumeName: string) => Promise<ContainerSpec> };
}
/** The parts of a sandbox on this engine, of which no row says anything yet. */
export interface LaidOut {
  volumeName: string;
  /** Of a container that was never started and has its checkpoint. */
  containerId?: string;
  /** Why there is no such container, though there is memory. */
  problem?: string;
}

/**
 * Makes a volume and, for its processes, a container, both under names of their own: any number of callers may do so at once, and the one whose change of
 * the row comes first has made the sandbox. The reaper lets them be for longer than other things.
 */
export async function layOut(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'conversationId' | 'containerName' | 'options'>,
  { files, memory }: Parts,
): Promise<LaidOut> {
  const { engine, installation } = context;
  const suffix = randomBytes(4).toString('hex');
  const volumeName = `copy.${volumeNameOf(installation, row.sandboxId)}.${suffix}`;
  const laidOut: LaidOut = { volumeName };
  try {
    const labels = { ...sandboxLabels(installation, row.sandboxId, row.conversationId), [LABEL.role]: 'copy' };
    await engine.createVolume(volumeName, labels, await volumeLimit(engine, row.options));
    await files({ volume: volumeName });
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
    log.warn({ volumeName, err: error }, 'what was laid out for a sandbox is left to the reaper');
  }
}
