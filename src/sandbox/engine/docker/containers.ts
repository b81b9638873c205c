import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import { failure } from '../../../contracts/errors.ts';
import type { ContainerSpec, ContainerState, Created, OwnedThing } from '../engine.ts';
import { checkpointsOf } from './checkpoints.ts';
import { engineStatus, ignoring, mapEngineError, mapped } from './errors.ts';
import { isUp } from '../is-up.ts';
import { fenceOf, LABEL } from '../labels.ts';

const STOP_SECONDS = 2;
const MOVE_ATTEMPTS = 10;
/** How long to wait until the create or remove of another caller is visible: ten seconds. */
const RACE_ATTEMPTS = 200;
const RACE_PAUSE_MS = 50;

/** Makes the container of `options`, or returns the existing one if it has the name and the labels of `spec`. */
export async function create(docker: Docker, spec: Pick<ContainerSpec, 'name' | 'image' | 'labels'>, options: ContainerCreateOptions): Promise<Created> {
  const action = `create container ${spec.name}`;
  for (let attempt = 0; attempt < RACE_ATTEMPTS; attempt += 1) {
    const made = await tryCreate(docker, spec, options, action);
    if (made !== undefined) return { id: made, isNew: true };
    const existing = await inspect(docker, spec.name);
    if (existing !== undefined) {
      const isOurs = Object.entries(spec.labels).every(([label, value]) => existing.labels[label] === value);
      if (!isOurs) throw failure('DOCKER_FAILED', { action, problem: 'the name is taken by a container that is not of this sandbox' });
      return { id: existing.id, isNew: false };
    }
    // The name is taken, but the engine shows the container only when the other caller's create is finished.
    await sleep(RACE_PAUSE_MS);
  }
  throw failure('DOCKER_FAILED', { action, problem: 'its name is in use, but the engine does not show the container that uses it' });
}

/** The new container's id; undefined when the name is taken. */
async function tryCreate(docker: Docker, spec: { image: string }, options: ContainerCreateOptions, action: string): Promise<string | undefined> {
  try {
    return (await docker.createContainer(options)).id;
  } catch (error) {
    if (engineStatus(error) === 409) return undefined;
    throw mapEngineError(error, action, spec.image);
  }
}

export async function inspect(docker: Docker, container: string): Promise<ContainerState | undefined> {
  return mapped(`inspect container ${container}`, async () => {
    try {
      return await describe(docker, (await docker.getContainer(container).inspect()) as Inspected);
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  });
}

/** `ExecIDs` is null when the engine runs no command in the container. */
type Inspected = Omit<Docker.ContainerInspectInfo, 'ExecIDs'> & { ExecIDs: string[] | null };

async function describe(docker: Docker, { Id, State, Config, HostConfig, ExecIDs }: Inspected): Promise<ContainerState> {
  const runtime = HostConfig.Runtime === 'runsc' ? 'runsc' : 'runc';
  const status = statusOf(State);
  const checkpoint = (status === 'ended' || status === 'created') && runtime === 'runsc' ? (await checkpointsOf(docker, Id))[0] : undefined;
  const holder = /^container:(.+)$/.exec(HostConfig.NetworkMode ?? '')?.[1];
  return {
    id: Id,
    ...(checkpoint === undefined ? { status } : { status: 'hibernated', checkpoint }),
    exitCode: State.ExitCode,
    outOfMemory: State.OOMKilled,
    labels: Config.Labels,
    runtime,
    ...(holder !== undefined && { holder }),
    execs: ExecIDs?.length ?? 0,
  };
}

function statusOf(state: Docker.ContainerInspectInfo['State']): 'created' | 'running' | 'paused' | 'ended' {
  if (state.Paused) return 'paused';
  if (state.Running) return 'running';
  return state.Status === 'created' ? 'created' : 'ended';
}

/**
 * Versions of engines report "the container has this state already" with different errors, so after an error the container is inspected. Another caller
 * may have changed its state in between; so the call is attempted several times.
 */
export async function move(docker: Docker, name: string, verb: 'start' | 'pause' | 'unpause', goal: ContainerState['status'][]): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await docker.getContainer(name)[verb]();
      return true;
    } catch (error) {
      if (engineStatus(error) === 304) return true;
      if (engineStatus(error) === undefined) throw mapEngineError(error, `${verb} container ${name}`);
      const now = await inspect(docker, name);
      if (now !== undefined && goal.includes(now.status)) return true;
      if (now === undefined || (verb !== 'start' && !isUp(now))) return false;
      if (verb === 'start' || attempt === MOVE_ATTEMPTS) throw mapEngineError(error, `${verb} container ${name}`);
    }
  }
}

export async function removeContainer(docker: Docker, container: string): Promise<void> {
  await letGvisorEnd(docker, container);
  await ignoring([404, 409], `remove container ${container}`, () => docker.getContainer(container).remove({ force: true, v: false }));
  // 409: another caller is removing it; this waits until it is removed.
  for (let attempt = 0; (await inspect(docker, container)) !== undefined; attempt += 1) {
    if (attempt === RACE_ATTEMPTS) throw failure('DOCKER_FAILED', { action: `remove container ${container}`, problem: 'it still exists' });
    await sleep(RACE_PAUSE_MS);
  }
}

/** Removes a container that does not run; true also when it does not exist. False when it runs. */
export async function removeEnded(docker: Docker, container: string): Promise<boolean> {
  return mapped(`remove container ${container}`, async () => {
    try {
      await docker.getContainer(container).remove({ force: false, v: false });
    } catch (error) {
      const now = await inspect(docker, container);
      if (now !== undefined && !isUp(now)) throw error;
      return now === undefined;
    }
    return true;
  });
}

export async function stopContainer(docker: Docker, container: string): Promise<void> {
  await letGvisorEnd(docker, container);
  await ignoring([304, 404], `stop container ${container}`, () => docker.getContainer(container).stop({ t: STOP_SECONDS }));
}

/**
 * Resumes a paused container of gVisor, which takes no signal while it is paused. Engines resume other containers themselves when they stop one; this one they
 * end after ten seconds or more without gVisor, and current ones cannot start it again then.
 */
async function letGvisorEnd(docker: Docker, container: string): Promise<void> {
  const found = await inspect(docker, container);
  if (found?.runtime === 'runsc' && found.status === 'paused') await move(docker, found.id, 'unpause', ['running']);
}

export async function containersOf(docker: Docker, installation: string): Promise<OwnedThing[]> {
  return mapped('list containers', async () => {
    const found = await docker.listContainers({ all: true, filters: { label: [`${LABEL.installation}=${installation}`] } });
    return found.map(({ Id, Names, Labels, Created, HostConfig, State }) => ({
      name: Names[0]?.slice(1) ?? Id,
      id: Id,
      isRunning: State === 'running',
      sandboxId: Labels[LABEL.sandbox] ?? '',
      fence: fenceOf(Labels),
      joins: HostConfig.NetworkMode.startsWith('container:'),
      ...(Labels[LABEL.role] !== undefined && { role: Labels[LABEL.role] }),
      createdAtMs: Created * 1000,
    }));
  });
}
