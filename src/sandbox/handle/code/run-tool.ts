import type { ExecEnd, ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { RunToolOptions, ToolRequest } from '../../api/host-methods.ts';
import { followCalls } from '../commands/follow-calls.ts';

/** Per stream: what a tool tells the worker, with its result at the end, and what its code prints. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Of what the code has printed, for the message about one that gave no result. */
const PREVIEW_BYTES = 4_000;

/**
 * Runs a tool's code as an exec of its own, so that it is run once, journalled and re-attached like any command. What it tells is its stdout; what its
 * code prints is its stderr.
 */
export async function runTool(connection: WorkingConnection, { name, ...request }: ToolRequest, options: RunToolOptions): Promise<ExecEnd> {
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
  // The line before it ends what an earlier worker may have been cut off in; the first line that is whole counts.
  const given = connection.input(execId, Buffer.from(`\n${JSON.stringify(request)}\n`), { end: true });
  given.catch(() => undefined);
  return running;
}
