import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLock } from '../../../platform/lock.ts';
import type { Engine } from '../engine.ts';
import type { Directories, LocalContainer, Started } from './directories.ts';
import { inspectPlace } from './inspect-place.ts';
import { continueAll, killAll, sendSignal, processStateOf, stopAllMarked } from './processes.ts';
import { removeTree } from './remove-tree.ts';
import { codeDirectory, methodsSocket, startSupervisor } from './supervisor.ts';

const STOP_POLLS = 200;
const POLL_MS = 10;

interface MoveParts {
  directories: Directories;
  root: string;
  searchPath: string;
}

/** The calls that change the state of a place. A lock permits one change at a time among all workers of this machine. */
export function createMoves({ directories, root, searchPath }: MoveParts): Pick<Engine, 'start' | 'pause' | 'unpause' | 'stop' | 'removeContainer'> {
  const locked = <T>(name: string, work: () => Promise<T>) => withLock(join(root, 'locks', name), work);
  const isUp = async (container: string) => ['running', 'paused'].includes((await inspectPlace(directories, container))?.status ?? '');
  /** Runs `work` when the processes of a place live, else returns false. Waits while another caller changes the place. */
  const whenUp = async (container: string, work: (found: LocalContainer) => Promise<void>): Promise<boolean> => {
    const found = await directories.place(container);
    if (!found) return false;
    return locked(found.name, async () => {
      if (!(await isUp(found.id))) return false;
      await work(found);
      return true;
    });
  };

  return {
    async start(container) {
      const found = await directories.place(container);
      if (!found) return false;
      return locked(found.name, async () => {
        if (!(await directories.place(found.id))) return false;
        if (!(await isUp(found.id))) await startSupervisor(directories, found, searchPath);
        return true;
      });
    },
    pause: (container) => whenUp(container, (found) => stopAllMarked(found.directory)),
    unpause: (container) => whenUp(container, (found) => continueAll(found.directory)),
    async stop(container) {
      await whenUp(container, async (found) => {
        const started = await directories.started(found);
        await continueAll(found.directory);
        if (started) await terminate(started);
        await killAll(found.directory);
      });
    },
    async removeContainer(container) {
      const found = await directories.place(container);
      if (!found) return;
      await locked(found.name, async () => {
        if (!(await directories.place(found.id))) return;
        await killAll(found.directory);
        for (const path of [codeDirectory(found), methodsSocket(found)]) await removeTree(path);
        await directories.removePlace(found);
      });
    },
  };
}

async function terminate(started: Started): Promise<void> {
  sendSignal(started.pid, 'SIGTERM');
  for (let poll = 0; poll < STOP_POLLS && (await processStateOf(started)) !== 'gone'; poll += 1) await sleep(POLL_MS);
}
