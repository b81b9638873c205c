import { failure } from '../../contracts/errors.ts';
import type { DockerContext } from './context.ts';
import { LABEL } from './labels.ts';

export const HOLDER_ROLE = 'network-holder';

/**
 * The one container of this host and installation whose network namespace, with nothing in it, all gVisor containers join: current engines cannot
 * restore a container that has a namespace of its own. Makes or starts it when need be. Returns its id.
 */
export async function ensureHolder({ engine, installation, standardImage }: Pick<DockerContext, 'engine' | 'installation' | 'standardImage'>): Promise<string> {
  const name = `holder.${installation}`;
  const found = await engine.inspect(name);
  if (found?.status === 'running') return found.id;
  const labels = { [LABEL.installation]: installation, [LABEL.role]: HOLDER_ROLE };
  const id = await engine.createHelper({ name, image: standardImage, labels, runtime: { name: 'runc' } });
  if (found?.status === 'paused') await engine.unpause(id);
  else if (!(await engine.start(id))) throw failure('DOCKER_FAILED', { action: `start container ${name}`, problem: 'somebody has removed it just now' });
  return id;
}
