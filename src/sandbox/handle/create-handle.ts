import { failure } from '../../contracts/errors.ts';
import { freeExec } from '../../contracts/call-ids.ts';
import { toRun } from './commands/command-words.ts';
import { createServerOperations } from './code/call-server.ts';
import { createFileOperations } from './files/files.ts';
import { exitOf } from './commands/exit-of.ts';
import { followCalls } from './commands/follow-calls.ts';
import { createCodeOperations } from './code/run-code.ts';
import { runToolInSandbox } from './code/run-tool.ts';
import { attachPty, openPty } from './commands/terminals.ts';
import { createTransfers } from './files/transfers.ts';
import { whenThereIsRoom } from './commands/when-there-is-room.ts';
import { watchFiles } from './files/watch-files.ts';
import type { MaskedConnection } from './secrets/with-secrets.ts';
import type { SandboxCheckpoints } from '../api/checkpoints.ts';
import type { CheckpointDifferences } from '../api/differences.ts';
import type { CommandResult, ExecInfo, RunOptions, StartOptions } from '../api/commands.ts';
import type { WorkerHandle } from '../api/sandbox.ts';
import { asUser } from '../protocol/as-user.ts';
import { toPreview } from '../protocol/to-preview.ts';
import type { ExecEnd, ExecRecord, ExecSpec, ExitRecord, FollowOptions, WorkingConnection } from '../protocol/supervisor-connection.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const DEFAULT_PREVIEW_BYTES = 16 * 1024;

type Input = NonNullable<RunOptions['stdin']>;

/** Makes a sandbox handle of a connection. The handle does not wake the sandbox; the connection has to do that. */
export function createHandle(direct: MaskedConnection, sandboxId: string, options: { previewBytes?: number } = {}): WorkerHandle {
  const connection = whenThereIsRoom(direct);
  const previewBytes = options.previewBytes ?? DEFAULT_PREVIEW_BYTES;
  const toResult = (execId: string, end: ExecEnd): CommandResult => {
    const exit = exitOf(end, sandboxId, `"${execId}" was running`);
    return {
      execId,
      ...outcome(exit),
      status: exit.status,
      stdout: toPreview(end.stdout, exit.stdoutBytes, exit.stdoutKept),
      stderr: toPreview(end.stderr, exit.stderrBytes, exit.stderrKept),
    };
  };
  const files = createFileOperations(connection);
  return {
    sandboxId,
    async run(command, run = {}) {
      const spec = toSpec(command, run);
      const follow = toFollow(run, previewBytes);
      const ended = followCalls(connection, spec.execId, run, connection.run(spec, follow));
      if (run.stdin === undefined) return toResult(spec.execId, await ended);
      const source = observed(run.stdin);
      try {
        const [end] = await Promise.all([ended, giveInput(connection, spec.execId, source.stdin, ended)]);
        return toResult(spec.execId, end);
      } catch (error) {
        // The command would wait for the rest of its input.
        if (source.failed()) await connection.signal(spec.execId, 'SIGKILL').catch(() => undefined);
        throw error;
      }
    },
    async start(command, run = {}) {
      const { stdin, ...rest } = run;
      const spec = toSpec(command, stdin === undefined ? rest : { ...rest, stdin: '' });
      const started = await connection.start(spec);
      if (stdin !== undefined && stdin !== 'open') feedInBackground(connection, spec.execId, stdin, run.onStdinError);
      return toInfo(started);
    },
    async attach(execId, from, follow = {}) {
      return toResult(execId, await connection.attach(execId, { ...toFollow(follow, previewBytes), ...(from && { from }) }));
    },
    writeStdin: (execId, data, { end = false } = {}) => writeStdin(connection, execId, toBytes(data), end),
    closeStdin: (execId) => connection.input(execId, new Uint8Array(), { end: true }),
    kill: (execId, signal = 'SIGTERM') => connection.signal(execId, signal),
    execs: async () => (await connection.list()).map(toInfo),
    answerMethod: (execId, number, answer) => connection.answer(execId, number, JSON.stringify(answer)),
    holdMethod: (execId, number) => connection.hold(execId, number),
    concludeAt: (execId, number) => connection.conclude(execId, number),
    forget: (execId) => connection.forget(execId),
    ...files,
    ...createTransfers(connection, files),
    ...createCodeOperations(connection, sandboxId, direct.mask),
    ...createServerOperations(connection, sandboxId, direct.mask),
    ...checkpointsOf(connection),
    runTool: async (request, tool) => toResult(tool.execId, await runToolInSandbox(connection, request, tool)),
    connectPort: (port, connect) => connection.connectPort(port, connect),
    watch: (path, watch) => watchFiles(connection, path, watch),
    openPty: (pty) => openPty(connection, sandboxId, pty),
    attachPty: async (ptyId, pty) => attachPty(connection, sandboxId, ptyId, pty),
  };
}

function checkpointsOf(connection: WorkingConnection): SandboxCheckpoints & CheckpointDifferences {
  return {
    createCheckpoint: (options) => connection.createCheckpoint(options),
    checkpoints: () => connection.checkpoints(),
    restoreCheckpoint: (checkpoint, options) => connection.restoreCheckpoint(checkpoint, options),
    compareCheckpoint: (request, onDifference, options) => connection.compareCheckpoint(request, onDifference, options),
  };
}

/** The input, and whether its source threw. The error alone does not show this, since the source may be another sandbox. */
function observed(stdin: Input): { stdin: Input; failed: () => boolean } {
  if (typeof stdin === 'string' || stdin instanceof Uint8Array) return { stdin, failed: () => false };
  let failed = false;
  async function* pieces(source: Exclude<Input, string | Uint8Array>) {
    try {
      yield* source;
    } catch (error) {
      failed = true;
      throw error;
    }
  }
  return { stdin: pieces(stdin), failed: () => failed };
}

/** Stops waiting for the input when the command ends before it has read all of it, or when the caller detaches. */
async function giveInput(connection: WorkingConnection, execId: string, stdin: Input, ended: Promise<ExecEnd>): Promise<void> {
  const given = feed(connection, execId, stdin);
  const outcome = await Promise.race([
    given.then(() => 'given' as const),
    ended.then(
      () => 'ended' as const,
      () => 'ended' as const,
    ),
  ]);
  if (outcome === 'ended') given.catch(() => undefined);
}

/** The supervisor accepts and drops input of a command that has ended, so the state of the command is checked afterwards. */
async function writeStdin(connection: WorkingConnection, execId: string, bytes: Uint8Array, end: boolean): Promise<void> {
  await connection.input(execId, bytes, { end });
  if (bytes.byteLength === 0 || end || (await connection.info(execId)).state === 'running') return;
  throw failure('STDIN_CLOSED', { execId });
}

/** Sends input while the command runs. When the input cannot be sent completely, the command is killed: it must not take a part for the whole. */
function feedInBackground(connection: WorkingConnection, execId: string, stdin: Input, onError: StartOptions['onStdinError']): void {
  feed(connection, execId, stdin).catch(async (error: unknown) => {
    await connection.signal(execId, 'SIGKILL').catch(() => undefined);
    onError?.(error);
  });
}

async function feed(connection: WorkingConnection, execId: string, stdin: Input): Promise<void> {
  if (typeof stdin === 'string' || stdin instanceof Uint8Array) return connection.input(execId, toBytes(stdin), { end: true });
  for await (const piece of stdin) await connection.input(execId, toBytes(piece), { end: false });
  await connection.input(execId, new Uint8Array(), { end: true });
}

function toSpec(command: string, run: RunOptions): ExecSpec {
  return {
    execId: run.execId ?? freeExec(),
    run: toRun(command),
    cwd: run.cwd ?? '.',
    ...asUser(run.user),
    env: run.env ?? {},
    timeoutMs: run.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxOutputBytes: run.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
    stdin: run.stdin === undefined ? 'empty' : 'open',
    ...(run.onMethodCall && { methods: true }),
  };
}

/** The return value of a caller's function is awaited and otherwise ignored. */
type Sink = NonNullable<FollowOptions['onStdout']>;

function toFollow(run: Pick<RunOptions, 'onStdout' | 'onStderr' | 'signal'>, previewBytes: number): FollowOptions {
  return {
    previewBytes,
    ...(run.onStdout && { onStdout: run.onStdout as Sink }),
    ...(run.onStderr && { onStderr: run.onStderr as Sink }),
    ...(run.signal && { signal: run.signal }),
  };
}

function toInfo({ exit, past: _past, ...info }: ExecRecord): ExecInfo {
  if (!exit || exit.status === 'lost') return info;
  return { ...info, result: { ...outcome(exit), status: exit.status, ...(exit.problem !== undefined && { problem: exit.problem }) } };
}

function outcome(exit: ExitRecord): Pick<CommandResult, 'durationMs' | 'exitCode' | 'signal' | 'limit' | 'concludedBy'> {
  return {
    durationMs: exit.durationMs,
    ...(exit.exitCode !== undefined && { exitCode: exit.exitCode }),
    ...(exit.signal !== undefined && { signal: exit.signal }),
    ...(exit.concludedBy !== undefined && { concludedBy: exit.concludedBy }),
    ...(exit.limit !== undefined && { limit: exit.limit }),
  };
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}
