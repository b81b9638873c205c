import type Docker from 'dockerode';
import { engineStatus, mapped } from './errors.ts';

/** dockerode has these calls; its type package does not. */
interface CheckpointCalls {
  createCheckpoint(options: { checkpointId: string; exit: boolean }): Promise<unknown>;
  listCheckpoint(): Promise<{ Name: string }[] | Buffer>;
  deleteCheckpoint(name: string): Promise<unknown>;
  /** Given as they are, options would go into the request's body as well, which engines refuse. */
  start(options: { _query: { checkpoint: string }; _body: Record<string, never> }): Promise<unknown>;
}

const NAME = /^rest-(\d+)$/;
/** Of the directory beside a checkpoint that holds its pages, where the runtime keeps them apart; an engine lists it as a checkpoint. */
export const PAGES = '.pages';

/** Writes the container's processes and memory to disk. */
export async function checkpoint(docker: Docker, container: string, name: string, then: 'end' | 'go-on'): Promise<void> {
  await mapped(`checkpoint container ${container}`, () => calls(docker, container).createCheckpoint({ checkpointId: name, exit: then === 'end' }));
}

/** Starts an ended container where its checkpoint stands; one that runs already is left alone. */
export async function restore(docker: Docker, container: string, name: string): Promise<void> {
  await mapped(`restore container ${container}`, async () => {
    try {
      await calls(docker, container).start({ _query: { checkpoint: name }, _body: {} });
    } catch (error) {
      if (engineStatus(error) !== 304) throw error;
    }
  });
}

/** Our checkpoints of a container, the newest first. */
export async function checkpointsOf(docker: Docker, container: string): Promise<string[]> {
  const names = (await list(docker, container)).filter((name) => NAME.test(name));
  return names.toSorted((a, b) => numberOf(b) - numberOf(a));
}

async function list(docker: Docker, container: string): Promise<string[]> {
  return mapped(`list checkpoints of container ${container}`, async () => {
    try {
      const found = await calls(docker, container).listCheckpoint();
      // Of none an engine says null, which dockerode passes on as bytes.
      return Array.isArray(found) ? found.map(({ Name }) => Name) : [];
    } catch (error) {
      // An engine that makes no checkpoints has no such call.
      if (engineStatus(error) !== undefined) return [];
      throw error;
    }
  });
}

/** Its pages go after it, so that there is never a checkpoint without them. Done as well when there is no such checkpoint. */
export async function removeCheckpoint(docker: Docker, container: string, name: string): Promise<void> {
  await remove(docker, container, name);
  await remove(docker, container, name + PAGES);
}

/**
 * Removes the pages of checkpoints that are no more: a crash, or a checkpoint that failed at the last, has left them. A checkpoint that is being made
 * is listed before its pages are.
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
      // Engines differ in how they refuse what is gone already.
      if (engineStatus(error) === undefined || (await list(docker, container)).includes(name)) throw error;
    }
  });
}

function calls(docker: Docker, container: string): CheckpointCalls {
  return docker.getContainer(container) as unknown as CheckpointCalls;
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1]);
}
