import type Docker from 'dockerode';
import { generationOf } from '../labels.ts';
import { engineStatus, mapped } from './errors.ts';

/** dockerode has these calls; its type package does not. */
interface CheckpointCalls {
  createCheckpoint(options: { checkpointId: string; exit: boolean }): Promise<unknown>;
  listCheckpoint(): Promise<{ Name: string }[] | Buffer>;
  deleteCheckpoint(name: string): Promise<unknown>;
  /** With plain options, dockerode would also send them in the body of the request, which engines refuse. */
  start(options: { _query: { checkpoint: string }; _body: Record<string, never> }): Promise<unknown>;
}

/** Suffix of the directory beside a checkpoint that contains its pages, if the runtime stores them separately. An engine lists it as a checkpoint. Also in programs/copy-job.sh. */
export const PAGES = '.pages';

const NOT_IMPLEMENTED = 501;

/** Writes the container's processes and memory to disk. */
export async function checkpoint(docker: Docker, container: string, name: string, then: 'end' | 'go-on'): Promise<void> {
  await mapped(`checkpoint container ${container}`, () => calls(docker, container).createCheckpoint({ checkpointId: name, exit: then === 'end' }));
}

/** Starts an ended container from its checkpoint. Without effect when the container runs. */
export async function restoreCheckpoint(docker: Docker, container: string, name: string): Promise<void> {
  await mapped(`restore container ${container}`, async () => {
    try {
      await calls(docker, container).start({ _query: { checkpoint: name }, _body: {} });
    } catch (error) {
      if (engineStatus(error) !== 304) throw error;
    }
  });
}

/** Longshore's checkpoints of a container, the newest first. */
export async function checkpointsOf(docker: Docker, container: string): Promise<string[]> {
  const found = (await list(docker, container)).flatMap((name) => {
    const generation = generationOf(name);
    return generation === undefined ? [] : [{ name, generation }];
  });
  return found.toSorted((a, b) => b.generation - a.generation).map(({ name }) => name);
}

async function list(docker: Docker, container: string): Promise<string[]> {
  return mapped(`list checkpoints of container ${container}`, async () => {
    try {
      const found = await calls(docker, container).listCheckpoint();
      // Without checkpoints an engine answers null, which dockerode returns as a Buffer.
      return Array.isArray(found) ? found.map(({ Name }) => Name) : [];
    } catch (error) {
      // An engine without checkpoints does not have this call. Any other failure says nothing: a hibernated container would count as one that has ended.
      const status = engineStatus(error) ?? 500;
      if (status < 500 || status === NOT_IMPLEMENTED) return [];
      throw error;
    }
  });
}

/** Removes the pages after the checkpoint, so that a checkpoint always has its pages. Succeeds when the checkpoint does not exist. */
export async function removeCheckpoint(docker: Docker, container: string, name: string): Promise<void> {
  await remove(docker, container, name);
  await remove(docker, container, name + PAGES);
}

/**
 * Removes pages without a checkpoint: a crash, or a checkpoint that failed at its end, has left them. The engine lists a checkpoint that is in progress
 * before its pages.
 */
export async function removeLoosePages(docker: Docker, container: string): Promise<void> {
  const names = new Set(await list(docker, container));
  for (const name of names) {
    if (name.endsWith(PAGES) && !names.has(name.slice(0, -PAGES.length))) await remove(docker, container, name);
  }
}

async function remove(docker: Docker, container: string, name: string): Promise<void> {
  await mapped(`remove a checkpoint of container ${container}`, async () => {
    try {
      await calls(docker, container).deleteCheckpoint(name);
    } catch (error) {
      // Engines answer with different errors when the checkpoint does not exist.
      if (engineStatus(error) === undefined || (await list(docker, container)).includes(name)) throw error;
    }
  });
}

function calls(docker: Docker, container: string): CheckpointCalls {
  return docker.getContainer(container) as unknown as CheckpointCalls;
}
