import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TemporaryStack } from '../../scripts/temporary-stack.ts';
import { AGENTS } from '../parts.ts';

const WORKER = fileURLToPath(new URL('../../src/worker-main.ts', import.meta.url));

/** A worker in a process of its own, with the agents of the benchmarks. */
export interface WorkerProcess extends AsyncDisposable {
  pid: number;
  /** As the kernel would, without a word. */
  kill(): Promise<void>;
}

export async function startWorkerProcess({ environment }: TemporaryStack, settings: Record<string, string> = {}): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [...process.execArgv, WORKER], {
    env: { ...process.env, ...environment, LONGSHORE_AGENTS: AGENTS, LONGSHORE_LOG_LEVEL: 'info', ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (said.includes('worker ready')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`a worker ended (${code}): ${said}`)));
  });
  return { pid: child.pid ?? 0, kill: () => end('SIGKILL'), [Symbol.asyncDispose]: () => end('SIGTERM') };
}
