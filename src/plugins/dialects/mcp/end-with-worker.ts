import { spawn } from 'node:child_process';

/** Waits for the end of its stdin, which comes when the process at the other side ends. Then gives the group time to notice it too, and ends the group. */
const WATCH = 'while read -r _; do :; done; sleep 2; kill -s TERM -- "-$0"; sleep 2; kill -s KILL -- "-$0"';

/**
 * Ends a process group when this process was killed before it could end it: not every program ends when its stdin ends. Disposing it ends the watch.
 * @param group process id of the group's leader
 */
export function endWithWorker(group: number): Disposable {
  const watcher = spawn('/bin/sh', ['-c', WATCH, String(group)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Without the watcher, only a worker that is killed leaves the group running.
  watcher.on('error', () => undefined);
  watcher.unref();
  return {
    [Symbol.dispose]() {
      watcher.kill('SIGKILL');
    },
  };
}
