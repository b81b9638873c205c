import { inTimeOr } from '../../../common/in-time.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { freeExec } from '../../../contracts/call-ids.ts';
import type { ExecRecord, ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { SandboxServer, ServerAnswer, ServerRequest, ServerRequestOptions } from '../../api/host-methods.ts';
import type { WorkerHandle } from '../../api/sandbox.ts';
import type { Mask } from '../secrets/mask.ts';
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
/** A server that was seen running this long ago is looked at again. */
const FRESH_MS = 10_000;
/** Before that, it is looked at when its answer takes longer than this. */
const PATIENCE_MS = 50;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/**
 * A server is an exec that continues to run, so every worker can find it. A request is another exec, made once, journalled and re-attached like any command.
 * Its output is the answer.
 */
export function createServerOperations(
  connection: WorkingConnection,
  sandboxId: string,
  mask?: Mask,
): Pick<WorkerHandle, 'callServer' | 'serverMark' | 'endServers'> {
  /** What this handle has seen running, by the names of the servers. */
  const known = new Map<string, Seen>();
  return {
    async callServer(server, request, options = {}) {
      const execId = options.execId ?? freeExec();
      const { name } = server;
      const definition = JSON.stringify(server);
      const following = { sandboxId, mask, execId, name, request, options };
      const seen = known.get(name);
      if (seen?.definition !== definition) {
        if (await ensureServer(connection, server, options.onRestart, execId)) known.set(name, { definition, at: performance.now() });
        return follow(connection, following);
      }
      // It is most likely still running, so the request does not wait for a look at it. Where it has ended, the request waits for its successor.
      const answering = follow(connection, following);
      const isFresh = performance.now() - seen.at < FRESH_MS;
      const early = isFresh ? await inTimeOr(answering, PATIENCE_MS, undefined) : undefined;
      if (early !== undefined) return early;
      let runs = false;
      try {
        const [answer, kept] = await Promise.all([answering, keepServer(connection, server, options.onRestart, execId)]);
        runs = kept;
        return answer;
      } finally {
        if (runs) seen.at = performance.now();
        else known.delete(name);
      }
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

interface Seen {
  definition: string;
  /** Time of `performance.now()`. */
  at: number;
}

interface Following {
  sandboxId: string;
  mask: Mask | undefined;
  execId: string;
  name: string;
  request: ServerRequest;
  options: ServerRequestOptions;
}

async function follow(connection: WorkingConnection, { sandboxId, mask, execId, name, request, options }: Following): Promise<ServerAnswer> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal, onProgress, onRestart, onMethodCall, hasChannel, asStarted = false } = options;
  let restart: string | undefined;
  const reader = createServerReader({ ...(onProgress && { onProgress }), onRestart: (why) => (restart ??= why) }, mask);
  const spec: ExecSpec = {
    execId,
    run: { program: 'mcp-call', argv: [name, request.method] },
    cwd: '.',
    env: {},
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    stdin: 'open',
    ...(onMethodCall && { methods: true }),
  };
  const following = { previewBytes: 0, onStdout: (chunk: Buffer) => reader.push(chunk), ...(signal && { signal }) };
  const running = followCalls(connection, execId, options, asStarted ? connection.attach(execId, following) : connection.run(spec, following));
  // The leading newline ends a line that an earlier worker may have sent only in part.
  const given = connection.input(execId, Buffer.from(`\n${JSON.stringify({ id: execId, hasChannel, ...request })}\n`), { end: true });
  given.catch(() => undefined);
  const exit = exitOf(await running, sandboxId, `"${execId}" was running`);
  if (exit.status === 'timeout' || exit.status === 'killed') return { outcome: exit.status };
  if (restart !== undefined) await onRestart?.(restart);
  return reader.answer() ?? { outcome: 'gone', why: 'its answer was lost on the way' };
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
 * already: such a request is only followed. Returns whether it runs.
 */
async function ensureServer(
  connection: WorkingConnection,
  server: SandboxServer,
  onRestart: ServerRequestOptions['onRestart'],
  requestExec?: string,
): Promise<boolean> {
  const spec = specOf(server);
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    // Asked at the same time: each answer takes as long as the rest of a short request.
    const starting = start(connection, spec);
    starting.catch(() => undefined);
    if (attempt === 0 && requestExec !== undefined && (await find(connection, requestExec))) return false;
    const why = await starting;
    if (why === undefined) return true;
    // Reported before the restart: when this worker dies in between, the next attempt reports it again.
    if (attempt === 0) await onRestart?.(why);
    await remove(connection, spec.execId);
  }
  const problem = `the MCP server "${server.name}" ends as soon as it is started; run its program with a command to see why`;
  throw failure('EXEC_FAILED', { problem });
}

/** Starts the server again where it has ended, and the request that was sent to it waits for it. Returns whether it runs. */
async function keepServer(
  connection: WorkingConnection,
  server: SandboxServer,
  onRestart: ServerRequestOptions['onRestart'],
  requestExec: string,
): Promise<boolean> {
  const spec = specOf(server);
  if ((await start(connection, spec)) === undefined) return true;
  // Where another worker has replaced it by one of another definition, that one has the request.
  const [found, request] = await Promise.all([find(connection, spec.execId), find(connection, requestExec)]);
  if (found?.state === 'running' || request?.state !== 'running') return false;
  try {
    return await ensureServer(connection, server, onRestart);
  } catch (error) {
    await remove(connection, requestExec);
    throw error;
  }
}

function specOf({ name, command, args, env, directory = '.', maySample }: SandboxServer): ExecSpec {
  if (!NAME.test(name)) {
    const fix = 'Use a lower-case letter, then letters, digits and -, 40 at most';
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: `${JSON.stringify(name)} is no name of a server`, fix });
  }
  return {
    execId: serverExec(name),
    run: { program: 'mcp', argv: [name, command, ...args] },
    cwd: directory,
    // A server in a sandbox of an earlier version gets the variable, and is not told that it may ask.
    env: maySample ? { ...env, LONGSHORE_MCP_SAMPLING: '1' } : env,
    timeoutMs: 0,
    maxOutputBytes: SERVER_OUTPUT_BYTES,
    stdin: 'empty',
  };
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

/** Ends what is left of an exec, and forgets it. */
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
