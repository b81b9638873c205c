import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import { readProgram } from '../../platform/read-program.ts';
import { defineTool, type Tool } from '../api/define-plugin.ts';
import { runProgram } from './run-program.ts';

/** The maximum number of bytes of one stream that one call returns. */
const PAGE_BYTES = 12_000;

const PROGRAM = readProgram(import.meta.url, 'programs/shell_logs.py');

const pageSchema = z.object({
  stdout: z.string(),
  stdoutOffset: z.int(),
  stdoutKept: z.int(),
  stderr: z.string(),
  stderrOffset: z.int(),
  stderrKept: z.int(),
});

const offset = (stream: string) => z.int().min(0).default(0).describe(`Byte of ${stream} to read from; take the one the last call gave.`);

/** The tool `shell:logs`. The supervisor journals outputs, so they can be read while the command runs, after it, and after a crash. */
export function shellLogs(execId: z.ZodString): Tool {
  return defineTool({
    id: 'logs',
    description: 'Says whether a background command still runs and gives its output from the given offsets on, with the offsets to go on from.',
    parameters: z.strictObject({ execId, stdoutOffset: offset('stdout'), stderrOffset: offset('stderr') }),
    annotations: { title: 'Read the output of a background command', readOnlyHint: true },
    isolation: 'container',
    async execute(input, { sandbox }) {
      const handle = await sandbox.handle();
      const found = (await handle.execs()).find((exec) => exec.execId === input.execId);
      if (!found) throw failure('EXEC_NOT_FOUND', { execId: input.execId, sandboxId: handle.sandboxId });
      const { status = found.state, exitCode, signal } = found.result ?? {};
      const { stdoutKept, stderrKept, ...page } = await runProgram(
        sandbox,
        PROGRAM,
        {
          directory: `/home/.longshore/execs/${found.execId}`,
          stdoutOffset: input.stdoutOffset,
          stderrOffset: input.stderrOffset,
          pageBytes: PAGE_BYTES,
        },
        pageSchema,
      );
      const totals = { stdoutBytes: found.stdoutBytes, stderrBytes: found.stderrBytes };
      const notKept = Math.max(0, found.stdoutBytes - stdoutKept) + Math.max(0, found.stderrBytes - stderrKept);
      const problem = `the last ${notKept} bytes of its output were not kept anywhere: the limit of output, or the disk. Have it write to a file, or less`;
      return {
        execId: found.execId,
        status,
        ...(exitCode !== undefined && { exitCode }),
        ...(signal !== undefined && { signal }),
        ...page,
        ...totals,
        ...(notKept > 0 && { problem }),
      };
    },
  });
}
