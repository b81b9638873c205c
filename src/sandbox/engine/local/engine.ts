import { availableParallelism } from 'node:os';
import type { Engine, OwnedThing } from '../engine.ts';
import { fenceOf, LABEL } from '../labels.ts';
import { createDirectories } from './directories.ts';
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
    create: async (spec) => (await directories.makePlace(spec)).place.id,
    async createAttached(spec) {
      const { place, isNew } = await directories.makePlace(spec);
      return { id: place.id, isNew };
    },
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

type Labelled = { name: string; labels: Record<string, string>; createdAtMs: number };

function isOf(installation: string): (thing: Labelled) => boolean {
  return ({ labels }) => labels[LABEL.installation] === installation;
}

function toOwned({ name, labels, createdAtMs }: Labelled): OwnedThing {
  return { name, sandboxId: labels[LABEL.sandbox] ?? '', fence: fenceOf(labels), createdAtMs };
}
