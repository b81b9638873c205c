import { cleanOutput } from '../../sandbox/clean-output.ts';
import type { CommandResult } from '../../sandbox/sandbox.ts';
import type { JsonObject } from '../../contracts/json.ts';

/**
 * A command's end as the model reads it and a script's `expect` compares it. A non-zero exit, a timeout and a kill are results, not errors.
 * Paths of the whole output are named only where `stdout` or `stderr` is not all of it.
 */
export function describeResult(result: CommandResult): JsonObject {
  const { stdout, stderr } = result;
  return {
    status: result.status,
    ...(result.exitCode !== undefined && { exitCode: result.exitCode }),
    ...(result.signal !== undefined && { signal: result.signal }),
    stdout: cleanOutput(stdout.text),
    stderr: cleanOutput(stderr.text),
    durationMs: Math.round(result.durationMs),
    ...((stdout.truncated || stderr.truncated) && { truncated: true }),
    ...(stdout.truncated && { stdoutPath: stdout.path, stdoutBytes: stdout.totalBytes }),
    ...(stderr.truncated && { stderrPath: stderr.path, stderrBytes: stderr.totalBytes }),
  };
}
