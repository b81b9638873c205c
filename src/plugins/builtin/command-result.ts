import { cleanOutput } from '../../sandbox/output/clean-output.ts';
import type { CommandResult } from '../../sandbox/api/commands.ts';
import type { JsonObject } from '../../contracts/json.ts';

/** By the limit of the sandbox that was reached. */
export const PROBLEMS = {
  memory: 'The sandbox ran out of memory, and the kernel ended a process. Use less at once, or split the work.',
  disk: 'The files of the sandbox take up more than they may, so its commands were ended. Remove some before you write more.',
};

/**
 * The result of a command as the model reads it, and as the `expect` of a scripted model compares it. A non-zero exit, a timeout and a kill are results,
 * not errors. The path of the whole output is given only if `stdout` or `stderr` was cut.
 */
export function describeResult(result: CommandResult): JsonObject {
  const { stdout, stderr } = result;
  return {
    status: result.status,
    ...(result.exitCode !== undefined && { exitCode: result.exitCode }),
    ...(result.signal !== undefined && { signal: result.signal }),
    ...(result.limit !== undefined && { problem: PROBLEMS[result.limit] }),
    stdout: cleanOutput(stdout.text),
    stderr: cleanOutput(stderr.text),
    durationMs: Math.round(result.durationMs),
    ...((stdout.truncated || stderr.truncated) && { truncated: true }),
    ...(stdout.truncated && { stdoutPath: stdout.path, stdoutBytes: stdout.totalBytes }),
    ...(stderr.truncated && { stderrPath: stderr.path, stderrBytes: stderr.totalBytes }),
  };
}
