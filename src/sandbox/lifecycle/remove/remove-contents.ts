import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fenceOf, LABEL, spareNameOf } from '../../engine/labels.ts';
import { pause } from '../../../common/pause.ts';
import { retried } from '../../../platform/retried.ts';

const REMOVE_ATTEMPTS = 100;
const REMOVE_PAUSE_MS = 100;

/** `fence`: of a sandbox that had no row, it is not known. */
type Contents = Pick<SandboxRow, 'sandboxId' | 'containerName' | 'containerId' | 'volumeName'> & Partial<Pick<SandboxRow, 'fence'>>;

/**
 * Removes the container and volume of a removed sandbox and closes the connection to it. A container with its name that belongs to another sandbox stays. When
 * a newer sandbox with the same id has a container, which has a higher number, its volume stays, too.
 */
export async function removeContents(
  { engine, connections, log }: Pick<DockerContext, 'engine' | 'connections' | 'log'>,
  { sandboxId, containerName, containerId, volumeName, fence = Infinity }: Contents,
): Promise<void> {
  connections.close(sandboxId);
  for (let attempt = 0; ; attempt += 1) {
    for (const name of [containerName, spareNameOf(containerName)]) {
      const found = await engine.inspect(name);
      if (found?.labels[LABEL.sandbox] !== sandboxId) continue;
      if (fenceOf(found.labels) > fence) return;
      // Engines refuse for a moment to remove a container that is ending.
      await retried(() => engine.removeContainer(found.id), { log, what: `removing ${sandboxId}` });
    }
    if (await engine.removeVolume(volumeName)) return;
    // A container that was made from an archive or a snapshot and does not have the sandbox's name yet.
    if (containerId !== undefined) await engine.removeContainer(containerId);
    // Another caller has just created a container that uses the volume.
    if (attempt === REMOVE_ATTEMPTS) throw failure('SANDBOX_CONFLICT', { sandboxId });
    await pause(REMOVE_PAUSE_MS);
  }
}
