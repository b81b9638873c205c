import { failure } from '../../../contracts/errors.ts';
import type { Copies, CopyJobs, Engine, Gvisor } from '../../engine/engine.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { generationOf } from '../../engine/labels.ts';
import type { DockerContext } from './docker-context.ts';

/** @throws INVALID_ARGUMENT when the engine has no gVisor */
export function gvisorOf({ gvisor, backend }: Pick<Engine, 'gvisor' | 'backend'>): Gvisor {
  if (gvisor !== undefined) return gvisor;
  throw failure('INVALID_ARGUMENT', {
    what: 'sandbox.runtime',
    problem: `the backend "${backend}" has no gVisor`,
    fix: 'Leave it out, or use the backend "docker"',
  });
}

/** @throws INVALID_ARGUMENT when the engine makes no copies */
export function copiesOf({ copies, backend }: Pick<Engine, 'copies' | 'backend'>): Copies {
  if (copies !== undefined) return copies;
  throw failure('INVALID_ARGUMENT', { what: 'sandbox', problem: `the backend "${backend}" makes no copies of sandboxes`, fix: 'Use the backend "docker"' });
}

/** The copy jobs of this installation. @throws INVALID_ARGUMENT when the engine makes no copies */
export function jobsOf({ engine, installation, standardImage }: Pick<DockerContext, 'engine' | 'installation' | 'standardImage'>): CopyJobs {
  return copiesOf(engine).jobs(installation, standardImage);
}

/**
 * Removes the checkpoints of a container that were made for a row of an earlier generation. A later one has the processes: another caller has put them to disk since
 * this caller has read the row. Without effect where the engine makes none.
 */
export async function removeCheckpoints({ checkpoints }: Pick<Engine, 'checkpoints'>, container: string, { generation }: SandboxRow): Promise<void> {
  if (checkpoints === undefined) return;
  for (const name of await checkpoints.list(container)) if ((generationOf(name) ?? generation) < generation) await checkpoints.remove(container, name);
}
