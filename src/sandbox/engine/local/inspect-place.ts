import type { ContainerState } from '../engine.ts';
import type { Directories } from './directories.ts';
import { processStateOf } from './processes.ts';

/** What the processes of a place do now. */
export async function inspectPlace(directories: Directories, container: string): Promise<ContainerState | undefined> {
  const found = await directories.place(container);
  if (!found) return undefined;
  const started = await directories.started(found);
  const state = started && (await processStateOf(started));
  return {
    id: found.id,
    status: state === undefined ? 'created' : state === 'gone' ? 'ended' : state === 'stopped' ? 'paused' : 'running',
    outOfMemory: false,
    labels: found.labels,
    runtime: 'runc',
    execs: 0,
  };
}
