import { failure } from '../../../contracts/errors.ts';
import type { DockerContext } from './docker-context.ts';
import { gvisorOf } from './engine-parts.ts';
import { LABEL } from '../../engine/labels.ts';

export const HOLDER_ROLE = 'network-holder';

/**
 * Makes sure that the holder of this host and installation runs, and returns its id. All gVisor containers join its empty network namespace, because current
 * engines cannot restore a container that has a namespace of its own.
 */
export async function ensureHolder({ engine, installation, standardImage }: Pick<DockerContext, 'engine' | 'installation' | 'standardImage'>): Promise<string> {
  const name = nameOf(installation);
  const found = await engine.inspect(name);
  if (found?.status === 'running') return found.id;
  const labels = { [LABEL.installation]: installation, [LABEL.role]: HOLDER_ROLE };
  const id = await gvisorOf(engine).createHelper({ name, image: standardImage, labels, runtime: { name: 'runc' } });
  if (found?.status === 'paused') await engine.unpause(id);
  else if (!(await engine.start(id))) throw failure('DOCKER_FAILED', { action: `start container ${name}`, problem: 'another process has just removed it' });
  return id;
}

/**
 * Removes the holder when no container joins it any more. When it is removed while another process is about to join it, that process makes a new one. Errors
 * are only logged, because the reaper tries again.
 */
export async function removeIdleHolder({ engine, installation, log }: Pick<DockerContext, 'engine' | 'installation' | 'log'>): Promise<void> {
  try {
    const holder = await engine.inspect(nameOf(installation));
    if (holder === undefined || (await engine.containersOf(installation)).some(({ joins }) => joins)) return;
    await engine.removeContainer(holder.id);
  } catch (error) {
    log.debug({ err: error }, 'the network holder of gVisor sandboxes could not be looked at');
  }
}

function nameOf(installation: string): string {
  return `holder.${installation}`;
}
