import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const ENTRY = join(import.meta.dirname, '../../src/worker-main.ts');
const STOP_TIMEOUT_MS = 15_000;

/** A worker in a process of its own. */
export interface WorkerProcess {
  pid: number;
  /** Resolves when it takes work; rejects with its last words when it ends before. */
  ready: Promise<void>;
  /** SIGKILL: it gets no chance to say goodbye. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a worker with the same runtime as this process, so that there is one process and nothing in between to be killed instead. */
export function startWorker(environment: Record<string, string>): WorkerProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', ENTRY], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ready = waitUntilReady(child, ended);
  // The caller may look at `ready` only after it has failed.
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    ready,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

function waitUntilReady(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const lastWords: string[] = [];
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    void ended.then(() => reject(new Error(`the worker ended before it was ready:\n${lastWords.join('\n')}`)));
    if (!child.stderr) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastWords.push(line);
      if (lastWords.length > 20) lastWords.shift();
      if (line.includes('worker ready')) resolve();
    });
  });
}
