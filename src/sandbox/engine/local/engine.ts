import { availableParallelism } from 'node:os';
import { Readable } from 'node:stream';
import { failure } from '../../../contracts/errors.ts';
import type { Engine, OwnedThing } from '../engine.ts';
import { LABEL } from '../labels.ts';
import { createDirectories } from './directories.ts';
import { inspectPlace } from './inspect-place.ts';
import { createMoves } from './moves.ts';
import { openStream } from './supervisor.ts';

/**
 * Does what a Docker engine does for the lifecycle of sandboxes, with processes of this machine. A container is a supervisor with all processes that
 * it started; a volume is a directory. Nothing is isolated. Calls that need containers are refused.
 * @param root directory of all state
 */
export function createLocalEngine({ root, searchPath }: { root: string; searchPath: string }): Engine {
  const directories = createDirectories(root);
  return {
    ...withoutContainers(),
    ...createMoves({ directories, root, searchPath }),
    inspect: (container) => inspectPlace(directories, container),
    create: async (spec) => (await directories.makePlace(spec)).id,
    createAttached: async (spec) => ({ id: (await directories.makePlace(spec)).id }),
    async openBridge(container) {
      const found = await directories.place(container);
      const started = found && (await directories.started(found));
      return started && openStream(started);
    },
    volumeExists: async (volume) => (await directories.volume(volume)) !== undefined,
    async removeVolume(volume) {
      if ((await directories.places()).some(({ volumeName }) => volumeName === volume)) return false;
      await directories.removeVolume(volume);
      return true;
    },
    containersOf: async (installation) => (await directories.places()).filter(isOf(installation)).map(toOwned),
    volumesOf: async (installation) => (await directories.volumes()).filter(isOf(installation)).map(toOwned),
    // Sandboxes use this machine's programs, whatever image is named.
    imageId: async () => 'local',
    newestTemplateImage: async () => undefined,
    hasQuotas: async () => false,
    processorCount: async () => availableParallelism(),
    // There is no cgroup for the processes of a sandbox, so their use is not measured.
    usage: async () => undefined,
    volumeSizes: async () => new Map(),
    gvisorProgram: async () => undefined,
    facts: async () => ({ id: 'local', runtimes: [], dataDirectory: root, seccomp: false }),
  };
}

type Labelled = { name: string; labels: Record<string, string>; createdAtMs: number };

function isOf(installation: string): (thing: Labelled) => boolean {
  return ({ labels }) => labels[LABEL.installation] === installation;
}

function toOwned({ name, labels, createdAtMs }: Labelled): OwnedThing {
  return { name, sandboxId: labels[LABEL.sandbox] ?? '', createdAtMs };
}

/** Calls that need containers. A caller reaches `refuse` only with `runtime: runsc`, because a local sandbox never has a checkpoint. */
function withoutContainers() {
  const refuse = async (): Promise<never> => {
    throw failure('INVALID_ARGUMENT', {
      what: 'sandbox.runtime',
      problem: 'the backend "local" has no gVisor',
      fix: 'Leave it out, or use the backend "docker"',
    });
  };
  const refuseCopy = async (): Promise<never> => {
    throw failure('INVALID_ARGUMENT', { what: 'sandbox', problem: 'the backend "local" makes no copies of sandboxes', fix: 'Use the backend "docker"' });
  };
  const refuseStream = (): Readable => Readable.from([refuseCopy()]);
  return {
    createHelper: refuse,
    removeEnded: refuse,
    rename: refuse,
    checkpoint: refuse,
    restore: refuse,
    checkpointsOf: async () => [],
    removeCheckpoint: async () => undefined,
    removeLoosePages: async () => undefined,
    createVolume: refuseCopy,
    copyJobs: () => ({ copy: refuseCopy, pack: refuseStream, unpack: refuseCopy }),
    endBridges: async () => undefined,
  };
}
