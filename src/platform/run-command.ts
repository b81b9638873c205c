import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { failure } from '../contracts/errors.ts';

const KILL_AFTER_MS = 5_000;

export interface CommandOutcome {
  /** 127 when there is no such program, 124 when it took too long, 130 when it was interrupted. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** Every line of output, as it comes. */
  onLine?: (line: string) => void;
  /** Ends the program and all that it has started. */
  signal?: AbortSignal | undefined;
}

/** Runs a program to its end; a failure of any kind is a value. */
export async function runCommand(program: string, args: string[], options: CommandOptions = {}): Promise<CommandOutcome> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that the compilers of a build end with it; Ctrl-C then reaches it through the signal only.
    detached: options.signal !== undefined,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
  });
  const collected = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => (collected[name] += chunk));
    if (options.onLine) createInterface({ input: child[name] }).on('line', options.onLine);
  }
  // A build or a download must not go on when this process was interrupted.
  const end = (signal: NodeJS.Signals) => void (options.signal ? killGroup(child.pid, signal) : child.kill(signal));
  const endWithUs = () => end('SIGTERM');
  process.once('exit', endWithUs);
  let ended: number | undefined;
  const timer = setTimeout(() => {
    ended = 124;
    end('SIGKILL');
  }, options.timeoutMs ?? 2_147_483_647);
  let killer: NodeJS.Timeout | undefined;
  const interrupted = () => {
    ended = 130;
    end('SIGTERM');
    killer = setTimeout(() => end('SIGKILL'), KILL_AFTER_MS);
  };
  if (options.signal?.aborted) interrupted();
  options.signal?.addEventListener('abort', interrupted, { once: true });
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      collected.stderr += error.message;
      resolve(error.code === 'ENOENT' ? 127 : 126);
    });
    child.once('close', (exit) => resolve(ended ?? exit ?? 128));
  });
  clearTimeout(timer);
  clearTimeout(killer);
  process.off('exit', endWithUs);
  options.signal?.removeEventListener('abort', interrupted);
  return { code, ...collected };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

/** Runs a program that has to succeed; returns what it printed. Otherwise `SETUP_FAILED`, with the end of its output. */
export async function mustRun(step: string, program: string, args: string[], options: CommandOptions & { fix: string }): Promise<string> {
  const outcome = await runCommand(program, args, options);
  if (outcome.code === 0) return outcome.stdout;
  throw failure('SETUP_FAILED', { step, problem: problemOf(program, outcome), fix: options.fix });
}

/** Why a program failed, in its own last words. */
export function problemOf(program: string, outcome: CommandOutcome): string {
  if (outcome.code === 127) return `${program} is not installed`;
  if (outcome.code === 124) return `${program} took too long`;
  const said = (outcome.stderr.trim() === '' ? outcome.stdout : outcome.stderr).trim().split('\n').slice(-6).join(' | ');
  if (outcome.code === 130) return `${program} was interrupted`;
  return `${program} ended with code ${outcome.code}: ${said}`;
}
