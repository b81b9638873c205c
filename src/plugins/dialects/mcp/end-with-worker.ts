import { spawn } from 'node:child_process';

/** Waits for the end of its stdin, which is that of whoever holds the other side; then gives the group the time to see the same, and ends it. */
const WATCH = 'while read -r _; do :; done; sleep 2; kill -s TERM -- "-$0"; sleep 2; kill -s KILL -- "-$0"';

/**
 * Ends a process group when this process has died without ending it, as `kill -9` makes it: not every program ends with its stdin. Disposing it ends the watch.
 * @param group process id of the group's leader
 */
export function endWithWorker(group: number): Disposable {
  const watcher = spawn('/bin/sh', ['-c', WATCH, String(group)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Without it things are as they would be anyway.
  watcher.on('error', () => undefined);
  watcher.unref();
  return {
    [Symbol.dispose]() {
      watcher.kill('SIGKILL');
    },
  };
}
