import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Config } from '../platform/config.ts';

/** The worker's program: the TypeScript source when this process runs from source, else the built file. */
const PROGRAM = fileURLToPath(new URL(`../worker-main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
const RESTART_DELAY_MS = 1_000;
const BAD_CONFIGURATION = 2;

export interface DevWorker {
  /** Resolves with the worker's exit code when it is stopped, or when it ends because its configuration is invalid. */
  ended: Promise<number>;
  /** Asks the worker to finish its work and to end. A second call kills it. */
  stop(): void;
}

/**
 * Keeps one worker process alive. When a worker is killed, a new one is started and continues its work.
 * @param onLogLine gets the lines of its log; without it the log goes to the stderr of this process
 */
export function startDevWorker(config: Config, log: (line: string) => void, onLogLine?: (line: string) => void): DevWorker {
  let child: ChildProcess | undefined;
  let stopping = false;
  let cancelDelay = () => {};
  // The worker must also end when this process ends because of an error.
  const killChild = () => child?.kill('SIGTERM');
  process.once('exit', killChild);

  const keepAlive = async () => {
    for (;;) {
      child = launch(config, onLogLine);
      const code = await exitOf(child);
      if (stopping || code === BAD_CONFIGURATION) return code;
      log(`the worker ended (${code}); starting another`);
      await new Promise<void>((resolve) => {
        cancelDelay = resolve;
        setTimeout(resolve, RESTART_DELAY_MS);
      });
      if (stopping) return 0;
    }
  };
  return {
    ended: keepAlive().finally(() => process.off('exit', killChild)),
    stop() {
      child?.kill(stopping ? 'SIGKILL' : 'SIGTERM');
      stopping = true;
      cancelDelay();
    },
  };
}

function launch(config: Config, onLogLine: ((line: string) => void) | undefined): ChildProcess {
  const settings = Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)]));
  // A process group of its own: Ctrl-C reaches only this process, which then stops its children in order.
  const child = spawn(process.execPath, [...process.execArgv, PROGRAM], {
    stdio: ['ignore', 'inherit', onLogLine ? 'pipe' : 'inherit'],
    env: { ...process.env, ...settings },
    detached: true,
  });
  if (onLogLine && child.stderr) createInterface({ input: child.stderr }).on('line', onLogLine);
  return child;
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 0 : 1)));
  });
}
