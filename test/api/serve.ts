import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { builtCommandLine } from '../support/built-programs.ts';
import type { Installation } from '../e2e/support.ts';

/** A service in a process of its own. */
export interface Server {
  url: string;
  pid: number;
  /** Asks it to stop, and waits until it has; gives its exit code. */
  stop(): Promise<number | null>;
  /** Ends it as the kernel would. */
  kill(): Promise<void>;
}

/** `longshore serve` as users run it. */
export async function serve({ environment }: Installation, more: NodeJS.ProcessEnv = {}): Promise<Server> {
  const program = await builtCommandLine();
  const child: ChildProcess = spawn(process.execPath, [program, 'serve', '--address', '127.0.0.1:0'], {
    env: { ...environment, LONGSHORE_LOG_LEVEL: 'warn', ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Serving (\S+)\. /.exec(said);
      if (found?.[1] !== undefined) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`the service ended before it was ready: ${said}`)));
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  };
  return {
    url,
    pid: child.pid ?? 0,
    stop: () => end('SIGTERM'),
    async kill() {
      await end('SIGKILL');
    },
  };
}
