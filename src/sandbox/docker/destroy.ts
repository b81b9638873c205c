import { setTimeout as sleep } from 'node:timers/promises';
import { containerNameOf, spareNameOf, volumeNameOf } from './labels.ts';
import { ownRow, untilSettled, type DockerContext } from './context.ts';
import { failure, isFailure } from '../../contracts/errors.ts';

const REMOVE_ATTEMPTS = 100;
const REMOVE_PAUSE_MS = 100;

/** Removes container and volume; the row stays and says `destroyed`. The row is set first, so that the reaper finishes what a crash cuts off. */
export async function destroy(context: DockerContext, sandboxId: string): Promise<void> {
  const { engine, rows, connections, installation, log } = context;
  await untilSettled(sandboxId, async () => {
    try {
      const row = await ownRow(context, sandboxId);
      if (row.state === 'destroyed') return true;
      return (await rows.change(sandboxId, row.generation, { state: 'destroyed' })) && true;
    } catch (error) {
      // What was never opened has nothing to remove but what a crashed opener may have left.
      if (isFailure(error, 'SANDBOX_NOT_FOUND')) return true;
      throw error;
    }
  });
  connections.close(sandboxId);
  const [container, volume] = [containerNameOf(installation, sandboxId), volumeNameOf(installation, sandboxId)];
  for (let attempt = 0; ; attempt += 1) {
    await engine.removeContainer(container);
    await engine.removeContainer(spareNameOf(container));
    if (await engine.removeVolume(volume)) break;
    // A container that somebody was just creating has taken the volume.
    if (attempt === REMOVE_ATTEMPTS) throw failure('SANDBOX_CONFLICT', { sandboxId });
    await sleep(REMOVE_PAUSE_MS);
  }
  log.info({ sandboxId }, 'sandbox destroyed');
}
