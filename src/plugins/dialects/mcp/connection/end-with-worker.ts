import { spawn } from 'node:child_process';
import { readProgram } from '../../../../platform/read-program.ts';

const WATCH = readProgram(import.meta.url, 'programs/end-with-worker.sh');

/**
 * Ends a process group when this process was killed before it could end it: not every program ends when its stdin ends. Disposing it ends the watch.
 * @param group process id of the group's leader
 */
export function endWithWorker(group: number): Disposable {
  const watcher = spawn('/bin/sh', ['-c', WATCH, 'end-with-worker', String(group)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Without the watcher, only a worker that is killed leaves the group running.
  watcher.on('error', () => undefined);
  watcher.unref();
  return {
    [Symbol.dispose]() {
      watcher.kill('SIGKILL');
    },
  };
}
