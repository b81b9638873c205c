import type { SandboxOptions } from '../../../contracts/agent.ts';
import { hasLabels, needsOf } from '../../../contracts/hosts/needs.ts';
import type { DockerContext } from './docker-context.ts';

/** Whether this host may have a sandbox that it would make, bring back or take over. Only gVisor may cost a call of the engine. */
export async function fitsHere({ hostLabels, runtimes }: Pick<DockerContext, 'hostLabels' | 'runtimes'>, options: SandboxOptions): Promise<boolean> {
  if (!hasLabels(hostLabels, options)) return false;
  const { runtime } = needsOf(options);
  return runtime === undefined || (await runtimes())?.includes(runtime) !== false;
}
