import type { Duplex } from 'node:stream';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { connectSupervisor } from '../../protocol/connect-supervisor.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Connections } from '../base/connections.ts';
import type { DockerContext } from '../base/docker-context.ts';
import type { Checkpoints, ContainerState, ContainerSpec } from '../../engine/engine.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { ensureHolder } from '../base/holder.ts';
import { isUp } from '../../engine/is-up.ts';
import { spareNameOf } from '../../engine/labels.ts';
import type { StreamTarget } from '../base/open-stream.ts';
import { retried } from '../../../platform/retried.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';

type Needed = Pick<DockerContext, 'engine' | 'installation' | 'standardImage' | 'copyCheckpoints' | 'log'> & { connections: Pick<Connections, 'greet'> };
type WokenRow = StreamTarget & Pick<SandboxRow, 'fence'>;
type Waking = Needed & { checkpoints: Checkpoints };

/** `awake`: its processes continue in the container with that id. `failed`: the sandbox could not be woken; its checkpoint still exists. */
export type Woken = { outcome: 'awake'; containerId: string } | { outcome: 'failed'; problem: string };

/**
 * Wakes a hibernated sandbox: in its own container, with retries and growing pauses; then, if allowed, in a new container on the same volume. The checkpoint
 * is removed only after the woken supervisor has answered. Several callers may do this at the same time.
 * @param specOf makes the definition of the new container
 */
export async function wakeMemory(needed: Needed, row: WokenRow, container: ContainerState, specOf: () => Promise<ContainerSpec>): Promise<Woken> {
  const { engine, log } = needed;
  const { sandboxId, containerName } = row;
  const { checkpoints } = engine;
  if (container.checkpoint === undefined || checkpoints === undefined) return { outcome: 'failed', problem: 'it has no checkpoint' };
  const name = container.checkpoint;
  const context = { ...needed, checkpoints };
  try {
    await ensureHolder(context);
    await retried(() => startFrom(context, container.id, name), { log, what: `waking ${sandboxId}` });
    return await confirmed(context, row, container.id, name);
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    if (!context.copyCheckpoints || engine.copies === undefined) return { outcome: 'failed', problem: String(error.values['problem']) };
    log.warn({ sandboxId, problem: error.message }, 'a sandbox does not wake in its container, trying a fresh one');
  }
  try {
    const containerId = await moveToFresh(context, container, { name, containerName, spec: await specOf() });
    await retried(() => startFrom(context, containerId, name), { log, what: `waking ${sandboxId} in a fresh container` });
    return await confirmed(context, row, containerId, name);
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    return { outcome: 'failed', problem: String(error.values['problem']) };
  }
}

/** An error is ignored when the container runs: another caller may have started it and even removed the checkpoint. */
async function startFrom({ engine, checkpoints }: Waking, container: string, name: string): Promise<void> {
  try {
    await checkpoints.restore(container, name);
  } catch (error) {
    if (!isUp(await engine.inspect(container))) throw error;
  }
}

interface Move {
  name: string;
  containerName: string;
  spec: ContainerSpec;
}

/**
 * Moves a checkpoint to a new container, which replaces the old one. The old container is removed before the new one is started, and only while it does not
 * run, so that both never run at the same time. Returns the id of the container to wake: the old one, if another caller has woken it meanwhile.
 */
async function moveToFresh(context: Waking, before: ContainerState, { name, containerName, spec }: Move): Promise<string> {
  const { engine, checkpoints } = context;
  const spare = spareNameOf(containerName);
  await engine.removeContainer(spare);
  const fresh = await engine.create({ ...spec, name: spare });
  try {
    await jobsOf(context).copy({ container: before.id, checkpoint: name }, { container: fresh, checkpoint: name });
  } catch (error) {
    await engine.removeContainer(fresh);
    throw error;
  }
  if (!(await checkpoints.removeEnded(before.id))) {
    await engine.removeContainer(spare);
    return before.id;
  }
  await checkpoints.rename(fresh, containerName);
  return fresh;
}

/**
 * Finishes such a move when a crash has prevented its last step; false when there was nothing to finish. It also renames a container that was made from an
 * archive or a snapshot: that one has a temporary name until the row contains its id.
 */
export async function finishMove(
  { engine }: Pick<DockerContext, 'engine'>,
  { containerName, containerId }: Pick<SandboxRow, 'containerName' | 'containerId'>,
): Promise<boolean> {
  const { checkpoints } = engine;
  if (checkpoints === undefined || (await engine.inspect(containerName)) !== undefined) return false;
  const spare = (await engine.inspect(spareNameOf(containerName))) ?? (containerId === undefined ? undefined : await engine.inspect(containerId));
  if (spare === undefined) return false;
  try {
    await checkpoints.rename(spare.id, containerName);
  } catch (error) {
    // Another caller may have done the same.
    if ((await engine.inspect(containerName)) === undefined) throw error;
  }
  return true;
}

/** Removes the checkpoint after the first answer: processes that have continued must not be restored from it again, because their work would be done twice. */
async function confirmed(context: Waking, target: WokenRow, containerId: string, name: string): Promise<Woken> {
  try {
    await confirm(context, target, containerId, name);
    return { outcome: 'awake', containerId };
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    return { outcome: 'failed', problem: String(error.values['problem']) };
  }
}

/** Waits for the first answer of the supervisor, then removes the checkpoint. */
async function confirm({ engine, checkpoints, connections, log }: Waking, target: WokenRow, container: string, name: string): Promise<void> {
  const open = async () => {
    const stream = await engine.openBridge(container);
    if (stream === undefined) throw failure('DOCKER_FAILED', { action: 'wake the sandbox', problem: 'its container ended again' });
    return stream;
  };
  const opened = async () => ({ stream: await open(), fence: target.fence });
  const answer = () => connections.greet(target, opened) ?? askAlone(target.sandboxId, open, log);
  await retried(() => answered(answer()), { log, what: `the first answer of ${target.sandboxId}` });
  await checkpoints.remove(container, name);
}

async function askAlone(sandboxId: string, openStream: () => Promise<Duplex>, log: Logger): Promise<void> {
  const connection = connectSupervisor({ sandboxId, log, openStream });
  try {
    await connection.ping();
  } finally {
    connection.close();
  }
}

async function answered(answer: Promise<void>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!isFailure(error, 'SANDBOX_UNREACHABLE')) throw error;
    throw failure('DOCKER_FAILED', { action: 'wake the sandbox', problem: String(error.values['problem']) }, error);
  }
}
