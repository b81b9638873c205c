import type { ExecEnd, ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { RunToolOptions, ToolRequest } from '../../api/host-methods.ts';
import { followCalls } from '../commands/follow-calls.ts';

/** For each stream: the tool's reports to the worker with its result at the end, and what its code prints. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Kept of what the code prints, for the message when it gives no result. */
const PREVIEW_BYTES = 4_000;

/**
 * Runs a tool's code as an exec, so that it is run once, journalled and re-attached like any command. Its reports to the worker are the stdout of the exec;
 * what its code prints is the stderr.
 */
export async function runToolInSandbox(connection: WorkingConnection, { name, ...request }: ToolRequest, options: RunToolOptions): Promise<ExecEnd> {
  const { execId, timeoutMs, signal, onTold, onPrint } = options;
  const spec: ExecSpec = {
    execId,
    run: { program: 'tool', argv: [name] },
    cwd: '.',
    env: {},
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    stdin: 'open',
    methods: true,
  };
  const follow = { previewBytes: PREVIEW_BYTES, onStdout: onTold, onStderr: onPrint, ...(signal && { signal }) };
  const started = options.asStarted ? connection.attach(execId, follow) : connection.run(spec, follow);
  const running = followCalls(connection, execId, options, started);
  // The leading newline ends a line that an earlier worker may have sent only in part. The first complete line counts.
  const given = connection.input(execId, Buffer.from(`\n${JSON.stringify(request)}\n`), { end: true });
  given.catch(() => undefined);
  return running;
}
