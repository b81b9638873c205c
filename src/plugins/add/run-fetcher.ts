import { problemOf, runCommand } from '../../platform/run-command.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

const TIMEOUT_MS = 300_000;
/** The largest file that the program may write: 200 MB, in the units of the shell. */
const MOST_BLOCKS = 409_600;
/** Variables that tell git of another repository, such as that whose hook this process is, are taken away. */
const LIMITED = `ulimit -f ${MOST_BLOCKS}; unset $(git rev-parse --local-env-vars 2>/dev/null); exec "$@"`;

export interface Fetching {
  /** The name of the plugin, for messages. */
  plugin: string;
  /** An empty directory for the program; it also keeps the program from reading settings of the caller's directory. */
  work: string;
  signal: AbortSignal;
}

/** Runs git or npm with bounds of time and size. @throws PLUGIN_INVALID with the end of what it says, without credentials that addresses may contain */
export async function runFetcher(
  program: 'git' | 'npm',
  args: string[],
  { plugin, work, signal }: Fetching,
  env: Record<string, string> = {},
): Promise<string> {
  const outcome = await runCommand('sh', ['-c', LIMITED, 'sh', program, ...args], { cwd: work, timeoutMs: TIMEOUT_MS, signal, env: { ...env, LC_ALL: 'C' } });
  signal.throwIfAborted();
  if (outcome.code === 0) return outcome.stdout;
  const problem = problemOf(program, outcome).replaceAll(/\/\/[^/@\s]*@/g, '//');
  throw pluginInvalid(plugin, `it cannot be fetched: ${problem.slice(0, 1_000)}`, 'Correct the name or the address, or what it needs to be reached');
}
