import { isFailure } from '../../contracts/errors.ts';
import type { ExecEnd, ExecSpec, FollowOptions, WorkingConnection } from '../connection/supervisor-connection.ts';
import type { RunToolOptions, ToolRequest } from '../sandbox.ts';
import { followCalls } from './follow-calls.ts';

const PROGRAM = 'tool';
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
    run: { program: PROGRAM, argv: [name] },
    cwd: '.',
    env: {},
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    stdin: 'open',
    methods: true,
  };
  const follow = { previewBytes: PREVIEW_BYTES, onStdout: onTold, onStderr: onPrint, ...(signal && { signal }) };
  const running = followCalls(connection, execId, options, runOrAttach(connection, spec, follow));
  // The line before it ends what an earlier worker may have been cut off in; the first line that is whole counts.
  const given = connection.input(execId, Buffer.from(`\n${JSON.stringify(request)}\n`), { end: true });
  given.catch(() => undefined);
  return running;
}

/** A tool that runs is the same one whatever the sandbox's variables are by now; nothing else that has its id is. */
async function runOrAttach(connection: WorkingConnection, spec: ExecSpec, follow: FollowOptions): Promise<ExecEnd> {
  try {
    return await connection.run(spec, follow);
  } catch (error) {
    if (!isFailure(error, 'EXEC_MISMATCH')) throw error;
    const { command } = await connection.info(spec.execId);
    if (!command.startsWith(`${PROGRAM} `)) throw error;
    return connection.attach(spec.execId, follow);
  }
}
