import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { failure } from '../contracts/errors.ts';

export interface CommandOutcome {
  /** 127 when there is no such program, 124 when it took too long. */
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
}

/** Runs a program to its end; a failure of any kind is a value. */
export async function runCommand(program: string, args: string[], options: CommandOptions = {}): Promise<CommandOutcome> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
  });
  const collected = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => (collected[name] += chunk));
    if (options.onLine) createInterface({ input: child[name] }).on('line', options.onLine);
  }
  // A build or a download must not go on when this process was interrupted.
  const endWithUs = () => void child.kill('SIGTERM');
  process.once('exit', endWithUs);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, options.timeoutMs ?? 2_147_483_647);
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      collected.stderr += error.message;
      resolve(error.code === 'ENOENT' ? 127 : 126);
    });
    child.once('close', (exit) => resolve(late ? 124 : (exit ?? 128)));
  });
  clearTimeout(timer);
  process.off('exit', endWithUs);
  return { code, ...collected };
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
  return `${program} ended with code ${outcome.code}: ${said}`;
}
