import { failure, isFailure } from '../../contracts/errors.ts';
import { connectSupervisor } from '../connection/connect-supervisor.ts';
import type { DockerContext } from './context.ts';
import type { ContainerState } from './engine.ts';
import { ensureHolder } from './holder.ts';
import { LABEL, spareNameOf } from './labels.ts';
import { retried } from './retried.ts';
import type { ContainerSpec } from './container-options.ts';
import type { SandboxRow } from '../../store/store.ts';

type Needed = Pick<DockerContext, 'engine' | 'installation' | 'standardImage' | 'copyCheckpoints' | 'log'>;

/** `awake`: its processes go on, in the container of that id. `failed`: no way of waking it worked; the checkpoint is still there. */
export type Woken = { outcome: 'awake'; containerId: string } | { outcome: 'failed'; problem: string };

/**
 * Wakes a hibernated container: where it stands, again with growing pauses, and then in a fresh container on the same volume. The checkpoint is
 * removed only after the woken supervisor has answered. Any number of callers may do this at once.
 * @param specOf makes the definition of the fresh container
 */
export async function wakeMemory(
  context: Needed,
  row: Pick<SandboxRow, 'sandboxId' | 'containerName'>,
  container: ContainerState,
  specOf: () => Promise<ContainerSpec>,
): Promise<Woken> {
  const { engine, log } = context;
  const { sandboxId, containerName } = row;
  if (container.checkpoint === undefined) return { outcome: 'failed', problem: 'it has no checkpoint' };
  const name = container.checkpoint;
  try {
    await ensureHolder(context);
    await retried(() => startFrom(context, container.id, name), { log, what: `waking ${sandboxId}` });
    return await confirmed(context, sandboxId, container.id, name);
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    if (!context.copyCheckpoints) return { outcome: 'failed', problem: String(error.values['problem']) };
    log.warn({ sandboxId, problem: error.message }, 'a sandbox does not wake in its container, trying a fresh one');
  }
  try {
    const containerId = await wakeInSpare(context, container, { name, spare: spareNameOf(containerName), containerName, spec: await specOf() });
    return await confirmed(context, sandboxId, containerId, name);
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    await engine.removeContainer(spareNameOf(containerName));
    return { outcome: 'failed', problem: String(error.values['problem']) };
  }
}

/** Another caller may have started it, and even removed the checkpoint: what counts is that it runs. */
async function startFrom({ engine }: Needed, container: string, name: string): Promise<void> {
  try {
    await engine.restore(container, name);
  } catch (error) {
    if (!isUp(await engine.inspect(container))) throw error;
  }
}

interface Spare {
  name: string;
  spare: string;
  containerName: string;
  spec: ContainerSpec;
}

/** The old container goes only when the spare one runs, and only then the spare one gets its name: whoever finds a spare one that runs takes it over. */
async function wakeInSpare(
  { engine, log, installation, standardImage }: Needed,
  before: ContainerState,
  { name, spare, containerName, spec }: Spare,
): Promise<string> {
  await engine.removeContainer(spare);
  const containerId = await engine.create({ ...spec, name: spare });
  const { dataDirectory } = await engine.facts();
  const labels = { [LABEL.installation]: installation, [LABEL.role]: 'copy' };
  const helper = { name: `copy.${containerName}`, image: standardImage, labels };
  await engine.copyCheckpoint({ from: before.id, to: containerId, checkpoint: name, helper, dataDirectory });
  await retried(() => engine.restore(containerId, name), { log, what: `waking ${containerName} in a fresh container` });
  await takeOver(engine, before, containerId, containerName);
  return containerId;
}

async function takeOver(engine: DockerContext['engine'], before: ContainerState | undefined, spareId: string, containerName: string): Promise<void> {
  if (before !== undefined) await engine.removeContainer(before.id);
  await engine.rename(spareId, containerName);
}

/** Finishes what a crash has left between the start of a spare container and its new name; false when there was nothing to finish. */
export async function finishSpare({ engine }: Pick<DockerContext, 'engine'>, containerName: string): Promise<boolean> {
  const spare = await engine.inspect(spareNameOf(containerName));
  if (!isUp(spare) || spare === undefined) return false;
  await takeOver(engine, await engine.inspect(containerName), spare.id, containerName);
  return true;
}

/** Once its processes have gone on, they must not be started from the same moment again: what they have done since would be done twice. */
async function confirmed(context: Needed, sandboxId: string, containerId: string, name: string): Promise<Woken> {
  try {
    await confirm(context, sandboxId, containerId, name);
    return { outcome: 'awake', containerId };
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    return { outcome: 'failed', problem: String(error.values['problem']) };
  }
}

/** Asks the supervisor over a stream of its own; then the checkpoint has done its work. */
async function confirm({ engine, log }: Needed, sandboxId: string, container: string, name: string): Promise<void> {
  const connection = connectSupervisor({
    sandboxId,
    log,
    openStream: async () => {
      const stream = await engine.openBridge(container);
      if (stream === undefined) throw failure('DOCKER_FAILED', { action: 'wake the sandbox', problem: 'its container ended again' });
      return stream;
    },
  });
  try {
    await retried(() => answer(connection), { log, what: `the first answer of ${sandboxId}` });
  } finally {
    connection.close();
  }
  await engine.removeCheckpoint(container, name);
}

async function answer(connection: { ping(): Promise<void> }): Promise<void> {
  try {
    await connection.ping();
  } catch (error) {
    if (!isFailure(error, 'SANDBOX_UNREACHABLE')) throw error;
    throw failure('DOCKER_FAILED', { action: 'wake the sandbox', problem: String(error.values['problem']) }, error);
  }
}

function isUp(state: ContainerState | undefined): boolean {
  return state?.status === 'running' || state?.status === 'paused';
}
