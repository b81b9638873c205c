import { DEFAULT_MEMORY_MB } from '../../../contracts/host-facts.ts';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { ContainerSpec, Created } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { diskLimit, volumeLimit } from '../../engine/disk-limit.ts';
import { ensureHolder } from '../base/holder.ts';
import { startKnown } from '../base/moves.ts';
import { fenceOf, LABEL, sandboxLabels, templateLabels } from '../../engine/labels.ts';

const DEFAULT_CPUS = 2;
const DEFAULT_PIDS = 256;

/**
 * Makes and starts a sandbox's container. A warm sandbox has no conversation yet. Returns the container's id; undefined when another caller has removed it, or had
 * made it and has changed the row since.
 */
export async function startNew(context: DockerContext, row: SandboxRow): Promise<string | undefined> {
  const { engine, connections } = context;
  const { id, isNew, stream } = await createContainer(context, row);
  // Before the start: the sandbox's terms are read while the engine works, and the supervisor finds its first message as soon as it runs.
  if (stream !== undefined) connections.begin(row, { stream, fence: row.fence });
  let isUp = false;
  try {
    isUp = await (isNew ? engine.start(id) : startKnown(context, row, id));
  } finally {
    if (!isUp && stream !== undefined) connections.close(row.sandboxId);
  }
  return isUp ? id : undefined;
}

async function createContainer(context: DockerContext, row: SandboxRow): Promise<Created> {
  const spec = await containerSpecOf(context, row, await runtimeFor(context, row.options));
  try {
    return await createFrom(context, row, spec);
  } catch (error) {
    if (await removeSuperseded(context, row)) return createFrom(context, row, spec);
    // Another process has removed the holder as unused, before this container joined it.
    if (spec.runtime.name === 'runc' || (await context.engine.inspect(spec.runtime.holder)) !== undefined) throw error;
    return createFrom(context, row, await containerSpecOf(context, row, spec.runtime.name));
  }
}

/** Removes an older container that has the name of the sandbox's. False when there is none. */
async function removeSuperseded({ engine }: DockerContext, row: SandboxRow): Promise<boolean> {
  const found = await engine.inspect(row.containerName);
  if (found === undefined || found.labels[LABEL.sandbox] !== row.sandboxId || fenceOf(found.labels) >= row.fence) return false;
  await engine.removeContainer(found.id);
  return true;
}

async function createFrom(context: DockerContext, row: SandboxRow, spec: ContainerSpec): Promise<Created> {
  const { template } = row.options as SandboxOptions;
  try {
    return await context.engine.createAttached(spec);
  } catch (error) {
    if (template === undefined || !isFailure(error, 'IMAGE_NOT_FOUND')) throw error;
    // A sandbox may rest for longer than its image is kept; then its files are used with a newer image. A new sandbox must have the requested image.
    const newer = row.state === 'creating' ? undefined : await context.engine.newestTemplateImage(template);
    if (newer === undefined) throw failure('TEMPLATE_NOT_BUILT', { template, host: context.hostId, image: spec.image }, error);
    context.log.warn({ sandboxId: row.sandboxId, image: spec.image, newer }, 'a sandbox goes on in a newer image of its template');
    return context.engine.createAttached({ ...spec, image: newer });
  }
}

/** The runtime for these options on this host. */
export async function runtimeFor({ capabilities }: DockerContext, { runtime, hibernateAfterMs = 0 }: SandboxOptions): Promise<'runc' | 'runsc'> {
  const wished = runtime ?? (hibernateAfterMs > 0 ? 'auto' : 'runc');
  if (wished !== 'auto') return wished;
  return (await capabilities()).checkpoint ? 'runsc' : 'runc';
}

/** The definition of a sandbox's container. */
export async function containerSpecOf(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'conversationId' | 'fence' | 'containerName' | 'volumeName' | 'options' | 'pool'>,
  runtime: 'runc' | 'runsc',
): Promise<ContainerSpec> {
  const { engine, installation, standardImage } = context;
  const options = row.options as SandboxOptions;
  await context.checkBound();
  const volumeMb = await volumeLimit(engine, options);
  return {
    name: row.containerName,
    image: options.image ?? standardImage,
    volumeName: row.volumeName,
    ...(volumeMb !== undefined && { volumeMb }),
    ...(diskLimit(options) > 0 && { fileMb: diskLimit(options) }),
    // A container from a pool was labelled before the sandbox had a conversation.
    labels: {
      ...templateLabels(options.labels),
      ...sandboxLabels(installation, { ...row, conversationId: row.pool === undefined ? row.conversationId : undefined }),
    },
    memoryMb: options.memoryMb ?? DEFAULT_MEMORY_MB,
    // Engines refuse a limit above the machine's number of processors.
    cpus: Math.min(options.cpus ?? DEFAULT_CPUS, await engine.processorCount()),
    pids: options.pids ?? DEFAULT_PIDS,
    readOnlyRoot: options.readOnlyRoot ?? true,
    runtime: runtime === 'runc' ? { name: 'runc' } : { name: 'runsc', holder: await ensureHolder(context) },
  };
}
