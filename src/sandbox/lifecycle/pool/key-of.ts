import type { SandboxOptions } from '../../../contracts/agent.ts';
import { runtimeFor } from '../make/new-container.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { poolKeyOf } from '../base/kept-pools.ts';

/** Key of the pool, of any worker, whose sandboxes match these options; undefined when their image is not on this machine. */
export async function matchingPoolKey(context: DockerContext, options: SandboxOptions): Promise<string | undefined> {
  const { engine, installation, standardImage } = context;
  const imageId = await engine.imageId(options.image ?? standardImage);
  return imageId === undefined ? undefined : poolKeyOf(options, { installation, imageId, runtime: await runtimeFor(context, options) });
}
