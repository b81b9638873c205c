import { StringDecoder } from 'node:string_decoder';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { freeExec } from '../../../contracts/call-ids.ts';
import { asUser } from '../../protocol/as-user.ts';
import { toPreview } from '../../protocol/to-preview.ts';
import type { ExecEnd, ExecRecord, ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { CodeContext, CodeResult, RunCodeOptions } from '../../api/code.ts';
import type { WorkerHandle } from '../../api/sandbox.ts';
import { createCodeReader, type CodeReader } from './code-reader.ts';
import { toRun } from '../commands/command-words.ts';
import { contextExec, contextInfo, contextName, programOf } from './context-names.ts';
import { followCalls } from '../commands/follow-calls.ts';
import type { Mask } from '../secrets/mask.ts';
import { exitOf, type Exit } from '../commands/exit-of.ts';

type CodeOperations = Pick<WorkerHandle, 'runCode' | 'interruptCode' | 'restartCode' | 'codeContexts'>;

const DEFAULT_TIMEOUT_MS = 60_000;
/** More than the interpreters send at most, so that the end is never cut off. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
/** For the process of a context, whose output is not read. */
const CONTEXT_OUTPUT_BYTES = 1024 * 1024;
/** Kept of the stderr of an interpreter, for the message when it cannot work. */
const PROBLEM_BYTES = 2000;
const START_ATTEMPTS = 5;
const START_POLL_MS = 20;

/**
 * A piece of code is an exec, so that it is run once, journalled and re-attached like any command. With a context, this exec only sends the code to the
 * context's process, which is another exec.
 */
export function createCodeOperations(connection: WorkingConnection, sandboxId: string, mask?: Mask): CodeOperations {
  const runOnce = async (code: string, options: RunCodeOptions, execId: string): Promise<CodeResult> => {
    const { language } = options;
    const started = {
      execId,
      cwd: options.cwd ?? '.',
      ...asUser(options.user),
      env: options.env ?? {},
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      ...(options.onMethodCall && { methods: true }),
    };
    const context = contextOf(options);
    if (!context && language === 'bash') return runBash(connection, sandboxId, started, code, options);
    if (context && !options.asStarted) await ensureContext(connection, context);
    const run: ExecSpec['run'] = context ? { program: 'call', argv: [contextName(context)] } : { program: programOf(language) };
    const spec: ExecSpec = { ...started, run, maxOutputBytes: MAX_OUTPUT_BYTES, stdin: 'open' };
    return runInterpreted({ connection, sandboxId, mask }, spec, { code, language, ...(context && settingOf(options)) }, options);
  };
  return {
    async runCode(code, given: RunCodeOptions) {
      const execId = given.execId ?? freeExec();
      return interruptible(connection, execId, given, (options) => runOnce(code, options, execId));
    },
    async interruptCode(context) {
      try {
        return await connection.signal(contextExec(context), 'SIGINT');
      } catch (error) {
        if (isFailure(error, 'EXEC_NOT_FOUND')) return false;
        throw error;
      }
    },
    async codeContexts() {
      return (await connection.list()).flatMap((exec) => (exec.state === 'running' ? (contextInfo(exec) ?? []) : []));
    },
    async restartCode(context) {
      const execId = contextExec(context);
      try {
        await connection.signal(execId, 'SIGKILL');
        await connection.attach(execId, { previewBytes: 0 });
        await forgetEnded(connection, execId);
      } catch (error) {
        if (!isFailure(error, 'EXEC_NOT_FOUND')) throw error;
      }
    },
  };
}

/** Ends the code when the signal is aborted, unless it detaches: code that continued would block its context for the next piece. */
async function interruptible(
  connection: WorkingConnection,
  execId: string,
  options: RunCodeOptions,
  run: (options: RunCodeOptions) => Promise<CodeResult>,
): Promise<CodeResult> {
  const { signal, onAbort = 'interrupt' } = options;
  if (signal === undefined || onAbort === 'detach') return run(options);
  const interrupted = failure('INTERRUPTED', { callId: execId });
  if (signal.aborted) throw interrupted;
  // SIGTERM first interrupts the code. Code that does not stop is killed, together with its context.
  let isOver = false;
  const onSignal = () => void endOnceThere(connection, execId, () => isOver).catch(() => undefined);
  signal.addEventListener('abort', onSignal, { once: true });
  try {
    const { signal: _signal, ...rest } = options;
    const result = await run(rest);
    if (signal.aborted && (result.status === 'interrupted' || result.status === 'gone')) throw interrupted;
    return result;
  } finally {
    isOver = true;
    signal.removeEventListener('abort', onSignal);
  }
}

/** Retries until the exec exists, since its start may still be on its way to the sandbox. */
async function endOnceThere(connection: WorkingConnection, execId: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      await connection.signal(execId, 'SIGTERM');
      return;
    } catch (error) {
      if (!isFailure(error, 'EXEC_NOT_FOUND')) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, START_POLL_MS));
  }
}

function contextOf({ language, contextId, user }: RunCodeOptions): CodeContext | undefined {
  return contextId === undefined ? undefined : { language, contextId, ...asUser(user) };
}

/** Settings that are sent to a context with each piece. Code without a context has them from the start of its process. */
function settingOf({ cwd, env }: RunCodeOptions): { cwd?: string; env?: Record<string, string> } {
  return { ...(cwd !== undefined && { cwd }), ...(env && { env }) };
}

interface Interpreting {
  connection: WorkingConnection;
  sandboxId: string;
  mask: Mask | undefined;
}

async function runInterpreted({ connection, sandboxId, mask }: Interpreting, spec: ExecSpec, request: object, options: RunCodeOptions): Promise<CodeResult> {
  const reader = createCodeReader(options, mask);
  const following = { previewBytes: PROBLEM_BYTES, onStdout: (chunk: Buffer) => reader.push(chunk), ...(options.signal && { signal: options.signal }) };
  const started = options.asStarted ? connection.attach(spec.execId, following) : connection.run(spec, following);
  const running = followCalls(connection, spec.execId, options, started);
  // The program may end before it has read its input, and a caller that detaches stops sending it.
  const fed = connection.input(spec.execId, Buffer.from(`${JSON.stringify(request)}\n`), { end: true });
  fed.catch(() => undefined);
  const end = await running;
  const exit = exitOf(end, sandboxId, `"${spec.execId}" was running`);
  return toResult(reader, exit, end.stderr.head + end.stderr.tail, { execId: spec.execId, contextId: options.contextId });
}

function toResult(reader: CodeReader, exit: Exit, problem: string, { execId, contextId }: { execId: string; contextId: string | undefined }): CodeResult {
  const { ended, executionCount, ...told } = reader.end();
  const gone = ended === undefined;
  const error = ended?.error ?? (gone && exit.status === 'exited' ? { type: 'Gone', message: 'the process of the code ended', traceback: problem } : undefined);
  return {
    execId,
    ...(contextId !== undefined && { contextId }),
    status: statusOf(exit, gone, error?.type),
    ...(exit.limit !== undefined && { limit: exit.limit }),
    ...(exit.concludedBy !== undefined && { concludedBy: exit.concludedBy }),
    ...told,
    ...(error && { error }),
    ...(executionCount !== undefined && { executionCount }),
    durationMs: exit.durationMs,
  };
}

function statusOf(exit: Exit, gone: boolean, errorType: string | undefined): CodeResult['status'] {
  if (exit.status === 'timeout' || exit.status === 'concluded') return exit.status;
  if (exit.status === 'killed') return gone && exit.signal === 'SIGKILL' ? 'gone' : 'interrupted';
  if (gone) return 'gone';
  if (errorType === 'KeyboardInterrupt' || errorType === 'Interrupted') return 'interrupted';
  return errorType === undefined ? 'finished' : 'failed';
}

async function runBash(
  connection: WorkingConnection,
  sandboxId: string,
  started: Pick<ExecSpec, 'execId' | 'cwd' | 'user' | 'env' | 'timeoutMs' | 'methods'>,
  code: string,
  options: RunCodeOptions,
): Promise<CodeResult> {
  const { execId } = started;
  const told = { stdout: textGiver((text) => options.onOutput?.('stdout', text)), stderr: textGiver((text) => options.onOutput?.('stderr', text)) };
  const following = {
    previewBytes: 65_536,
    ...(options.onOutput && { onStdout: (chunk: Buffer) => told.stdout.push(chunk), onStderr: (chunk: Buffer) => told.stderr.push(chunk) }),
    ...(options.signal && { signal: options.signal }),
  };
  const spec: ExecSpec = { ...started, run: toRun(code), maxOutputBytes: MAX_OUTPUT_BYTES, stdin: 'empty' };
  const running = options.asStarted ? connection.attach(execId, following) : connection.run(spec, following);
  const end = await followCalls(connection, execId, options, running);
  for (const text of [told.stdout, told.stderr]) text.end();
  return resultOfBash(execId, exitOf(end, sandboxId, `"${execId}" was running`), end);
}

/** Gives bytes as text. A character that is cut between two chunks is given with the second one. */
function textGiver(give: (text: string) => void): { push(chunk: Buffer): void; end(): void } {
  const decoder = new StringDecoder();
  const giveAny = (text: string): void => (text === '' ? undefined : give(text));
  return { push: (chunk) => giveAny(decoder.write(chunk)), end: () => giveAny(decoder.end()) };
}

function resultOfBash(execId: string, exit: Exit, end: ExecEnd): CodeResult {
  const stdout = toPreview(end.stdout, exit.stdoutBytes, exit.stdoutKept);
  const stderr = toPreview(end.stderr, exit.stderrBytes, exit.stderrKept);
  const status = statusOfBash(exit);
  return {
    execId,
    status,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.truncated || stderr.truncated,
    ...(stdout.truncated && { stdoutPath: stdout.path }),
    ...(stderr.truncated && { stderrPath: stderr.path }),
    values: [],
    ...(exit.limit !== undefined && { limit: exit.limit }),
    ...(status === 'failed' && { error: { ...howItFailed(exit), traceback: end.stderr.tail || end.stderr.head } }),
    ...(exit.concludedBy !== undefined && { concludedBy: exit.concludedBy }),
    durationMs: exit.durationMs,
  };
}

function statusOfBash({ status, exitCode }: Exit): CodeResult['status'] {
  if (status === 'exited') return exitCode === 0 ? 'finished' : 'failed';
  return status === 'timeout' || status === 'concluded' ? status : 'interrupted';
}

function howItFailed({ exitCode, signal = 'a signal' }: Exit): { type: string; message: string } {
  return exitCode === undefined ? { type: 'Signal', message: `ended by ${signal}` } : { type: 'ExitCode', message: `exit code ${exitCode}` };
}

/** Starts the context's process unless it runs. One that has ended is forgotten, so that the next one can have its id. */
async function ensureContext(connection: WorkingConnection, context: CodeContext): Promise<void> {
  const spec: ExecSpec = {
    execId: contextExec(context),
    run: { program: programOf(context.language), argv: [contextName(context)] },
    cwd: '.',
    ...asUser(context.user),
    env: {},
    timeoutMs: 0,
    maxOutputBytes: CONTEXT_OUTPUT_BYTES,
    stdin: 'empty',
  };
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    if ((await startContext(connection, spec)).state === 'running') return;
    await forgetEnded(connection, spec.execId);
  }
  throw failure('EXEC_FAILED', { problem: `the context "${context.contextId}" ends as soon as it is started; run the code without a contextId to see why` });
}

/** A context that runs with other secrets of its sandbox continues with those: a restart would lose its variables. */
async function startContext(connection: WorkingConnection, spec: ExecSpec): Promise<ExecRecord> {
  try {
    return await connection.start(spec);
  } catch (error) {
    if (isFailure(error, 'EXEC_MISMATCH')) return connection.info(spec.execId);
    throw error;
  }
}

async function forgetEnded(connection: WorkingConnection, execId: string): Promise<void> {
  try {
    await connection.forget(execId);
  } catch (error) {
    // Another caller has forgotten it already, or processes that the context started still run.
    if (isFailure(error, 'EXEC_NOT_FOUND')) return;
    if (!isFailure(error, 'INVALID_ARGUMENT')) throw error;
    await connection.signal(execId, 'SIGKILL');
  }
}
