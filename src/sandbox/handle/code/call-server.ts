import { failure, isFailure } from '../../../contracts/errors.ts';
import { deferred } from '../../../common/deferred.ts';
import { freeExec } from '../../../contracts/call-ids.ts';
import type { ExecRecord, ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { SandboxServer, ServerAnswer, ServerRequest, ServerRequestOptions } from '../../api/host-methods.ts';
import type { WorkerHandle } from '../../api/sandbox.ts';
import { followCalls } from '../commands/follow-calls.ts';
import { createServerReader } from './server-reader.ts';
import { serverExec, serverOfExec } from './server-names.ts';
import { exitOf } from '../commands/exit-of.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
/** More than mcp_server.py passes on of one request, progress included. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Kept of a server's stderr in total. */
const SERVER_OUTPUT_BYTES = 1024 * 1024;
const START_ATTEMPTS = 5;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/**
 * A server is an exec that continues to run, so every worker can find it. A request is another exec, made once, journalled and re-attached like any command.
 * Its output is the answer.
 */
export function createServerOperations(connection: WorkingConnection, sandboxId: string): Pick<WorkerHandle, 'callServer' | 'serverMark' | 'endServers'> {
  const met = new Set<string>();
  return {
    async callServer(server, request, options = {}) {
      const execId = options.execId ?? freeExec();
      const following = { sandboxId, execId, name: server.name, request, options };
      if (server.isNamedByContent && met.has(server.name)) return followAtOnce(connection, following, ensureServer(connection, server, options));
      await ensureServer(connection, server, { ...options, madeAs: execId });
      if (server.isNamedByContent) met.add(server.name);
      return follow(connection, following);
    },
    async serverMark(name) {
      const keeper = await find(connection, serverExec(name));
      if (keeper?.state !== 'running') return undefined;
      // mcp_server.py writes to its stdout only when the tools may have changed.
      return keeper.stdoutBytes === 0 ? '' : `${keeper.startedAt} ${keeper.stdoutBytes}`;
    },
    async endServers(except) {
      const running = (await connection.list()).filter(({ state }) => state === 'running').map(({ execId }) => serverOfExec(execId));
      const names = running.filter((name) => name !== undefined && !except.includes(name)) as string[];
      // The exec is not forgotten, so that the next caller that starts the server learns that it had ended.
      await Promise.all(names.map((name) => connection.signal(serverExec(name), 'SIGKILL')));
      return names;
    },
  };
}

interface Following {
  sandboxId: string;
  execId: string;
  name: string;
  request: ServerRequest;
  options: ServerRequestOptions;
}

/**
 * Makes the request while the server is looked for: it ran before, and under its name can be no other. Where it has ended, the request waits for its
 * successor.
 */
async function followAtOnce(connection: WorkingConnection, following: Following, ensured: Promise<void>): Promise<ServerAnswer> {
  const answered = follow(connection, following);
  answered.catch(() => undefined);
  try {
    await ensured;
  } catch (error) {
    // Another worker may have started it meanwhile, so only the request itself knows whether it was received.
    if (isFailure(error, 'EXEC_FAILED') && (await answered).outcome !== 'absent') return answered;
    throw error;
  }
  return answered;
}

async function follow(connection: WorkingConnection, { sandboxId, execId, name, request, options }: Following): Promise<ServerAnswer> {
  const { signal, onProgress, onRestart, hasChannel, asStarted = false } = options;
  let restart: string | undefined;
  const reader = createServerReader({ ...(onProgress && { onProgress }), onRestart: (why) => (restart ??= why) });
  const answered = deferred<undefined>();
  const onStdout = (chunk: Buffer) => {
    reader.push(chunk);
    if (reader.answer()) answered.resolve(undefined);
  };
  const following = { previewBytes: 0, onStdout, ...(signal && { signal }) };
  const spec = specOf(execId, [name, request.method], options);
  const running = followCalls(connection, execId, options, asStarted ? connection.attach(execId, following) : connection.run(spec, following));
  running.catch(() => undefined);
  // The leading newline ends a line that an earlier worker may have sent only in part.
  const given = connection.input(execId, Buffer.from(`\n${JSON.stringify({ id: execId, hasChannel, ...request })}\n`), { end: true });
  given.catch(() => undefined);
  // The answer is in the journal; the end of the exec is not waited for.
  const ended = await Promise.race([answered.promise, running]);
  const status = ended && exitOf(ended, sandboxId, `"${execId}" was running`).status;
  if (status === 'timeout' || status === 'killed') return { outcome: status };
  if (restart !== undefined) await onRestart?.(restart);
  return reader.answer() ?? { outcome: 'gone', why: 'its answer was lost on the way' };
}

function specOf(execId: string, argv: string[], { timeoutMs = DEFAULT_TIMEOUT_MS, onMethodCall }: ServerRequestOptions): ExecSpec {
  return {
    execId,
    run: { program: 'mcp-call', argv },
    cwd: '.',
    env: {},
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    stdin: 'open',
    ...(onMethodCall && { methods: true }),
  };
}

async function find(connection: WorkingConnection, execId: string): Promise<ExecRecord | undefined> {
  try {
    return await connection.info(execId);
  } catch (error) {
    if (isFailure(error, 'EXEC_NOT_FOUND')) return undefined;
    throw error;
  }
}

/**
 * Starts mcp_server.py for the server unless it runs. One that has ended, or that was started from another definition, is replaced, unless the request was made
 * already, as `madeAs`: such a request is only followed.
 */
async function ensureServer(
  connection: WorkingConnection,
  server: SandboxServer,
  { madeAs, onRestart }: { madeAs?: string; onRestart?: ServerRequestOptions['onRestart'] },
): Promise<void> {
  const { name, command, args, directory = '.', maySample } = server;
  // A server in a sandbox of an earlier version gets the variable, and is not told that it may ask.
  const env = maySample ? { ...server.env, LONGSHORE_MCP_SAMPLING: '1' } : server.env;
  if (!NAME.test(name)) {
    const fix = 'Use a lower-case letter, then letters, digits and -, 40 at most';
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: `${JSON.stringify(name)} is no name of a server`, fix });
  }
  const execId = serverExec(name);
  const run: ExecSpec['run'] = { program: 'mcp', argv: [name, command, ...args] };
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    // Asked at the same time: each answer takes as long as the rest of a short request.
    const starting = start(connection, { execId, run, cwd: directory, env, timeoutMs: 0, maxOutputBytes: SERVER_OUTPUT_BYTES, stdin: 'empty' });
    starting.catch(() => undefined);
    if (attempt === 0 && madeAs !== undefined && (await find(connection, madeAs))) return;
    const why = await starting;
    if (why === undefined) return;
    // Reported before the restart: when this worker dies in between, the next attempt reports it again.
    if (attempt === 0) await onRestart?.(why);
    await remove(connection, execId);
  }
  throw failure('EXEC_FAILED', { problem: `the MCP server "${name}" ends as soon as it is started; run its program with a command to see why` });
}

/** Undefined when the server runs, otherwise the reason why it does not. */
async function start(connection: WorkingConnection, spec: ExecSpec): Promise<string | undefined> {
  try {
    const { state } = await connection.start(spec);
    if (state === 'running') return undefined;
    return state === 'lost' ? 'the processes of its sandbox had ended' : 'it had ended';
  } catch (error) {
    if (isFailure(error, 'EXEC_MISMATCH')) return 'its definition has changed';
    throw error;
  }
}

/** Ends what is left of a server, and forgets its exec. */
async function remove(connection: WorkingConnection, execId: string): Promise<void> {
  try {
    await connection.signal(execId, 'SIGKILL');
    await connection.attach(execId, { previewBytes: 0 });
    await connection.forget(execId);
  } catch (error) {
    // Another caller has forgotten it already, or processes that the server started still run.
    if (!isFailure(error, 'EXEC_NOT_FOUND') && !isFailure(error, 'INVALID_ARGUMENT')) throw error;
  }
}
