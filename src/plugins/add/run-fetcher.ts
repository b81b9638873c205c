import { problemOf, runCommand } from '../../platform/run-command.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

const TIMEOUT_MS = 300_000;
/** The largest file that the program may write: 200 MB, in the units of the shell. */
const MOST_BLOCKS = 409_600;
/** Characters. npm lists the files of a package: those of the largest plugin have room. */
const MOST_OUTPUT = 16 * 1024 * 1024;
/** A program of git that was ended by the limit of files (SIGXFSZ), and what npm says when it meets it. */
const TOO_LARGE = /died of signal 25|\bEFBIG\b/;
/** Variables that tell git of another repository, such as that whose hook this process is, are taken away. */
const LIMITED = `ulimit -f ${MOST_BLOCKS}; unset $(git rev-parse --local-env-vars 2>/dev/null); exec "$@"`;

export interface Fetching {
  /** The name of the plugin, for messages. */
  plugin: string;
  /** An empty directory for the program; it also keeps the program from reading settings of the caller's directory. */
  work: string;
  signal: AbortSignal;
  /** The error for a plugin that has more than it may have. */
  tooMuch(this: void): Error;
}

/** Runs git or npm with bounds of time and size. @throws PLUGIN_INVALID with the end of what it says, without credentials that addresses may contain */
export async function runFetcher(
  program: 'git' | 'npm',
  args: string[],
  { plugin, work, signal, tooMuch }: Fetching,
  env: Record<string, string> = {},
): Promise<string> {
  const limits = { timeoutMs: TIMEOUT_MS, mostOutput: MOST_OUTPUT, signal };
  const outcome = await runCommand('sh', ['-c', LIMITED, 'sh', program, ...args], { ...limits, cwd: work, env: { ...env, LC_ALL: 'C' } });
  signal.throwIfAborted();
  if (outcome.code === 0) return outcome.stdout;
  if (outcome.isCut || outcome.killedBy === 'SIGXFSZ' || TOO_LARGE.test(outcome.stderr)) throw tooMuch();
  const stderr = program === 'npm' ? causeIn(outcome.stderr) : outcome.stderr;
  const problem = problemOf(program, { ...outcome, stderr }).replaceAll(/\/\/[^/@\s]*@/g, '//');
  throw pluginInvalid(plugin, `it cannot be fetched: ${problem.slice(0, 1_000)}`, 'Correct the name or the address, or what it needs to be reached');
}

/** npm says the cause first, and ends with advice and the place of its log. */
function causeIn(stderr: string): string {
  const lines = stderr.split('\n').flatMap((line) => /^npm (?:error|ERR!) (.*\S)/.exec(line)?.[1] ?? []);
  return lines.length === 0 ? stderr : lines.slice(0, 5).join('\n');
}
