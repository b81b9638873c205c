import { availableParallelism } from 'node:os';
import { failure } from '../../../contracts/errors.ts';
import type { ContainerSpec, Created, Engine, OwnedThing } from '../engine.ts';
import { fenceOf, LABEL } from '../labels.ts';
import { createDirectories, type Directories } from './directories.ts';
import { inspectPlace } from './inspect-place.ts';
import { createMoves } from './moves.ts';
import { openSupervisorStream } from './supervisor.ts';

/**
 * Does what a Docker engine does for the lifecycle of sandboxes, with processes of this machine. A container is a supervisor with all processes that
 * it started; a volume is a directory. Nothing is isolated. It has no gVisor, and makes no checkpoints or copies.
 * @param root directory of all state
 */
export function createLocalEngine({ root, searchPath }: { root: string; searchPath: string }): Engine {
  const directories = createDirectories(root);
  return {
    backend: 'local',
    ...createMoves({ directories, root, searchPath }),
    inspect: (container) => inspectPlace(directories, container),
    create: async (spec) => (await makeOwn(directories, spec)).id,
    createAttached: (spec) => makeOwn(directories, spec),
    async openBridge(container) {
      const found = await directories.place(container);
      const started = found && (await directories.started(found));
      return started && openSupervisorStream(started);
    },
    volumeExists: async (volume) => (await directories.volume(volume)) !== undefined,
    async removeVolume(volume) {
      if ((await directories.places()).some(({ volumeName }) => volumeName === volume)) return false;
      await directories.removeVolume(volume);
      return true;
    },
    containersOf: async (installation) => (await directories.places()).filter(isOf(installation)).map((place) => ({ ...toOwned(place), id: place.id })),
    volumesOf: async (installation) => (await directories.volumes()).filter(isOf(installation)).map(toOwned),
    // Sandboxes use this machine's programs, whatever image is named.
    imageId: async () => 'local',
    newestTemplateImage: async () => undefined,
    hasQuotas: async () => false,
    processorCount: async () => availableParallelism(),
    // There is no cgroup for the processes of a sandbox, so their use is not measured.
    usage: async () => undefined,
    volumeSizes: async () => new Map(),
    facts: async () => ({ id: 'local', runtimes: [], dataDirectory: root, seccomp: false }),
  };
}

/** As with Docker, a place with the name and other labels is not the sandbox's: it may be left from before the sandbox got a newer container. */
async function makeOwn(directories: Directories, spec: Pick<ContainerSpec, 'name' | 'volumeName' | 'labels'>): Promise<Created> {
  const { place, isNew } = await directories.makePlace(spec);
  const isOurs = Object.entries(spec.labels).every(([label, value]) => place.labels[label] === value);
  if (!isOurs) throw failure('DOCKER_FAILED', { action: `create ${spec.name}`, problem: 'the name is taken by processes that are not of this sandbox' });
  return { id: place.id, isNew };
}

type Labelled = { name: string; labels: Record<string, string>; createdAtMs: number };

function isOf(installation: string): (thing: Labelled) => boolean {
  return ({ labels }) => labels[LABEL.installation] === installation;
}

function toOwned({ name, labels, createdAtMs }: Labelled): OwnedThing {
  return { name, sandboxId: labels[LABEL.sandbox] ?? '', fence: fenceOf(labels), createdAtMs };
}
