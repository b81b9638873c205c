import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { failure } from '../contracts/errors.ts';

const KILL_AFTER_MS = 5_000;

export interface CommandOutcome {
  /** 127 when the program is not found, 124 when it timed out, 130 when it was interrupted. */
  code: number;
  stdout: string;
  stderr: string;
  /** The signal of another process, or of the system, that has ended it. */
  killedBy?: NodeJS.Signals;
  /** It was ended since it wrote more than `mostOutput`, of which the rest is left out. */
  isCut?: true;
}

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** Characters of stdout and stderr. A program that writes more is ended. */
  mostOutput?: number;
  /** Called with each line of output as it arrives. */
  onLine?: (line: string) => void;
  /** Ends the program and all processes that it has started. */
  signal?: AbortSignal | undefined;
}

/** Runs a program to its end. Does not reject: a failure is a value. */
export async function runCommand(program: string, args: string[], options: CommandOptions = {}): Promise<CommandOutcome> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that the compilers of a build are ended with the program. Ctrl-C then reaches the group through `signal` only.
    detached: options.signal !== undefined,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
  });
  // A build or a download must not continue after this process has ended.
  const end = (signal: NodeJS.Signals) => void (options.signal ? killGroup(child.pid, signal) : child.kill(signal));
  const collected: Pick<CommandOutcome, 'stdout' | 'stderr' | 'killedBy' | 'isCut'> = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      if (collected.isCut) return;
      collected[name] += chunk;
      if (collected.stdout.length + collected.stderr.length <= (options.mostOutput ?? Infinity)) return;
      collected.isCut = true;
      end('SIGKILL');
    });
    if (options.onLine) createInterface({ input: child[name] }).on('line', options.onLine);
  }
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
    child.once('close', (exit, by) => {
      if (by !== null && ended === undefined && !collected.isCut) collected.killedBy = by;
      resolve(ended ?? exit ?? 128);
    });
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
    // All processes of the group have ended.
  }
}

/**
 * Runs a program that has to succeed.
 * @returns its stdout.
 * @throws SETUP_FAILED with the end of its output when it fails.
 */
export async function mustRun(step: string, program: string, args: string[], options: CommandOptions & { fix: string }): Promise<string> {
  const outcome = await runCommand(program, args, options);
  if (outcome.code === 0) return outcome.stdout;
  throw failure('SETUP_FAILED', { step, problem: problemOf(program, outcome), fix: options.fix });
}

/** Why a program failed, with the last lines of its output. */
export function problemOf(program: string, outcome: CommandOutcome): string {
  if (outcome.code === 127) return `${program} is not installed`;
  if (outcome.code === 124) return `${program} took too long`;
  const said = (outcome.stderr.trim() === '' ? outcome.stdout : outcome.stderr).trim().split('\n').slice(-6).join(' | ');
  if (outcome.code === 130) return `${program} was interrupted`;
  return `${program} ended with code ${outcome.code}: ${said}`;
}
