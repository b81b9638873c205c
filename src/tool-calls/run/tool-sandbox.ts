import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import { callOfCode, execOf, isUnderExec } from '../../contracts/call-ids.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Asking } from '../../contracts/mcp/server.ts';
import type { ToolSandbox } from '../../plugins/api/define-plugin.ts';
import type { CommandResult, ExecInfo } from '../../sandbox/api/commands.ts';
import type { MethodCall } from '../../sandbox/api/methods.ts';
import type { CodeResult } from '../../sandbox/api/code.ts';
import type { SandboxServer, ServerAnswer, ServerRequest } from '../../sandbox/api/host-methods.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import { untilRoom } from '../../sandbox/api/until-room.ts';
import { createFate, unlessEnded, type OutsideEnding } from './fate/call-fate.ts';
import { answerQuestions, type NumberedRequest, type NumberedRun, type Questions } from './answer-questions.ts';

/** The sandbox as one attempt at a call sees it. */
export interface CallSandbox extends Omit<ToolSandbox, 'runTool' | 'callServer'> {
  runTool(run: NumberedRun): Promise<CommandResult>;
  callServer(server: SandboxServer, request: ServerRequest, options?: NumberedRequest): Promise<ServerAnswer>;
  /** The first event that ended it; after that, nothing more is started. */
  ending(): OutsideEnding | undefined;
  /** Checks an error that a tool threw for what it says about the sandbox. */
  note(error: unknown): void;
  /** Detaches from running commands; they continue. */
  detach(): void;
  /** The call of code at which a command of this call was ended. */
  concludedBy(): string | undefined;
  /** True while a command of the call runs or the sandbox is being opened. */
  isBusy(): boolean;
  /** Ends the commands that the tool waited for, and starts nothing more. Commands that it started in the background continue. */
  endCommands(): Promise<void>;
}

export interface CallSandboxParts {
  args: ExecuteToolArgs;
  /** An earlier attempt may have started what this one asks for. */
  isBegun: boolean;
  /** This attempt waits while its host lacks memory for the sandbox. Absent: it ends, and another one asks again. */
  waits?: true;
  /** @param signal aborted when the attempt releases the sandbox */
  open: (signal: AbortSignal) => Promise<WorkerHandle>;
  onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /** Takes the calls of tools that the commands' code makes, and the questions of MCP servers, with who asks. */
  onMethodCall: (handle: WorkerHandle, call: MethodCall, asking?: Asking) => void;
}

/** Occupies the exec id that the call would use next: a command that does nothing. A start that finds the id taken recognises it. */
export const INTERRUPTED_MARK = ': interrupted before it was started';

/** State of one attempt at a call in its sandbox. */
interface Hold {
  isBegun: boolean;
  fate: ReturnType<typeof createFate>;
  release: AbortController;
  onOutput: CallSandboxParts['onOutput'];
  onMethodCall: CallSandboxParts['onMethodCall'];
  concludedBy?: string;
  /** Time limit of code that sets none of its own. */
  timeoutMs: number;
  /** Execs of tools in the sandbox that have ended: commands that they started are ended with them, which is not an interruption. */
  over: Set<string>;
  /** Execs that a caller waits for, with their sandbox. */
  awaited: Map<string, WorkerHandle>;
}

/** Names a call's commands after it (`<callId>-1`, `-2`, …), so that a repeated `execute` attaches to the commands that it started. */
export function createCallSandbox({ args, isBegun, waits, open, onOutput, onMethodCall }: CallSandboxParts): CallSandbox {
  const { callId, timeoutMs } = args;
  const fate = createFate(callId);
  const hold: Hold = { fate, isBegun, release: new AbortController(), onOutput, onMethodCall, timeoutMs, over: new Set(), awaited: new Map() };
  let named = 0;
  let busy = 0;
  const nextId = () => execOf(callId, ++named);
  return {
    handle: () => guarded(async (handle) => handle),
    ...commands(nextId),
    callServer(server, request, options = {}) {
      const execId = nextId();
      const commandsOf = (number: number) => commands(() => execOf(execId, number));
      return guarded((handle) => callServerOnce(hold, handle, execId, { server, request, options, commandsOf }));
    },
    runTool(run) {
      const execId = nextId();
      return guarded((handle) => runToolOnce(hold, handle, execId, { ...run, commandsOf: (number) => commands(() => execOf(execId, number)) }));
    },
    ending: fate.ending,
    concludedBy: () => hold.concludedBy,
    note: (error) => void fate.endBy(error),
    detach() {
      fate.end({ kind: 'detached' });
      hold.release.abort();
    },
    isBusy: () => busy > 0,
    endCommands: () => endAwaited(hold),
  };

  function commands(idOf: () => string): Pick<ToolSandbox, 'exec' | 'runCode' | 'start'> {
    return {
      exec(command, options = {}) {
        const execId = idOf();
        return guarded((handle) => runOnce(hold, handle, execId, command, options));
      },
      runCode(code, options) {
        const execId = idOf();
        return guarded((handle) => runCodeOnce(hold, handle, execId, code, options));
      },
      start(command, options = {}) {
        const execId = idOf();
        return guarded((handle) => orAttached(hold, handle, execId, handle.start(command, { timeoutMs: 0, ...options, execId }), async (first) => first));
      },
    };
  }

  async function guarded<Result>(use: (handle: WorkerHandle) => Promise<Result>): Promise<Result> {
    if (fate.ending()) throw fate.refusal();
    busy += 1;
    try {
      const handle = await open(hold.release.signal);
      const act = () => unlessEnded(fate, () => use(handle));
      return await (waits ? untilRoom(act, { signal: hold.release.signal }) : act());
    } catch (error) {
      throw fate.endBy(error) ?? error;
    } finally {
      busy -= 1;
    }
  }
}

/** Lists the exec as waited for until the result is disposed of. */
function noteAwaited({ awaited }: Hold, execId: string, handle: WorkerHandle): Disposable {
  awaited.set(execId, handle);
  return { [Symbol.dispose]: () => void awaited.delete(execId) };
}

async function endAwaited({ fate, awaited }: Hold): Promise<void> {
  fate.end({ kind: 'detached' });
  await Promise.all([...awaited].map(([execId, handle]) => handle.kill(execId)));
}

async function runOnce(
  hold: Hold,
  handle: WorkerHandle,
  execId: string,
  command: string,
  { quiet, methods = false, ...options }: NonNullable<Parameters<ToolSandbox['exec']>[1]>,
): Promise<CommandResult> {
  using _awaited = noteAwaited(hold, execId, handle);
  const { signal } = hold.release;
  const follow = {
    signal,
    ...(methods && { isBegun: hold.isBegun, onMethodCall: (call: MethodCall) => hold.onMethodCall(handle, call) }),
    ...(!quiet && { onStdout: (chunk: Buffer) => hold.onOutput('stdout', chunk), onStderr: (chunk: Buffer) => hold.onOutput('stderr', chunk) }),
  };
  const started = handle.run(command, { timeoutMs: hold.timeoutMs, ...options, ...follow, execId });
  const result = await orAttached(hold, handle, execId, started, async () => {
    const attached = handle.attach(execId, undefined, follow);
    // The attempt that started the command may have died before it sent the input. Input that was sent already is not sent again: it is closed then.
    if (options.stdin !== undefined) handle.writeStdin(execId, options.stdin, { end: true }).catch(() => undefined);
    return attached;
  });
  if (result.status === 'killed') throw killed(hold, execId, result);
  if (result.concludedBy !== undefined) hold.concludedBy = callOfCode(execId, result.concludedBy);
  return result;
}

async function runCodeOnce(
  hold: Hold,
  handle: WorkerHandle,
  execId: string,
  code: string,
  { methods = false, ...options }: Parameters<ToolSandbox['runCode']>[1],
): Promise<CodeResult> {
  using _awaited = noteAwaited(hold, execId, handle);
  const { isBegun, release, onOutput, timeoutMs } = hold;
  const tell = (stream: 'stdout' | 'stderr', text: string) => onOutput(stream, Buffer.from(text));
  const follow = { signal: release.signal, onOutput: tell, ...(methods && { isBegun, onMethodCall: (call: MethodCall) => hold.onMethodCall(handle, call) }) };
  // A pause or the end of the worker detaches from the code; only an interruption ends it.
  const given = { timeoutMs, ...options, ...follow, execId, onAbort: 'detach' as const };
  const result = await orAttached(hold, handle, execId, handle.runCode(code, given), () => handle.runCode(code, { ...given, asStarted: true }));
  if (result.status === 'interrupted') throw killed(hold, execId);
  if (result.concludedBy !== undefined) hold.concludedBy = callOfCode(execId, result.concludedBy);
  return result;
}

interface ServerCall extends Pick<Questions, 'commandsOf'> {
  server: SandboxServer;
  request: ServerRequest;
  options: NumberedRequest;
}

async function callServerOnce(hold: Hold, handle: WorkerHandle, execId: string, { server, request, options, commandsOf }: ServerCall): Promise<ServerAnswer> {
  const { fate, isBegun, release, timeoutMs } = hold;
  const { ask, asks, ...others } = options;
  const asking = asks && { isBegun, onMethodCall: (call: MethodCall) => hold.onMethodCall(handle, call, asks) };
  const isOver = () => fate.ending() !== undefined;
  const answering = ask && { isBegun, hasChannel: true, onMethodCall: answerQuestions(handle, { ask, commandsOf, isOver }) };
  const given = { timeoutMs, ...others, ...asking, ...answering, signal: release.signal, execId };
  const called = handle.callServer(server, request, given);
  const answer = await orAttached(hold, handle, execId, called, () => handle.callServer(server, request, { ...given, asStarted: true }));
  if (answer.outcome === 'killed') throw fate.end({ kind: 'interrupted' });
  return answer;
}

async function runToolOnce(hold: Hold, handle: WorkerHandle, execId: string, run: NumberedRun & Pick<Questions, 'commandsOf'>): Promise<CommandResult> {
  using _awaited = noteAwaited(hold, execId, handle);
  const { fate, isBegun, release, onOutput } = hold;
  const { request, timeoutMs, onTold, ask, commandsOf } = run;
  const onMethodCall = answerQuestions(handle, { ask, commandsOf, isOver: () => fate.ending() !== undefined });
  const onPrint = (chunk: Buffer) => onOutput('stderr', chunk);
  const options = { execId, timeoutMs, signal: release.signal, isBegun, onTold, onPrint, onMethodCall };
  const started = handle.runTool(request, options);
  const result = await orAttached(hold, handle, execId, started, () => handle.runTool(request, { ...options, asStarted: true }));
  // Commands that it requested and still waits for end with it.
  hold.over.add(execId);
  if (result.status !== 'exited') await endCommandsOf(handle, execId);
  if (result.status === 'killed') throw fate.end({ kind: 'interrupted', result });
  return result;
}

/** A killed command was interrupted on request, unless its tool had ended: a tool's time limit also ends what it started. */
function killed({ fate, over }: Hold, execId: string, result?: CommandResult): unknown {
  const isOver = [...over].some((toolId) => isUnderExec(toolId, execId));
  return isOver ? failure('DETACHED', { execId }) : fate.end({ kind: 'interrupted', ...(result && { result }) });
}

async function endCommandsOf(handle: WorkerHandle, execId: string): Promise<void> {
  const running = (await handle.execs()).filter((exec) => exec.state === 'running' && isUnderExec(execId, exec.execId));
  await Promise.all(running.map((exec) => handle.kill(exec.execId)));
}

/**
 * When the id is taken by another command, that command is either the mark of an interruption, or what an earlier attempt started: its tool does not repeat
 * the command exactly, or a secret in its environment has changed. In the second case, attaches to it.
 */
async function orAttached<End>(
  { fate }: Hold,
  handle: WorkerHandle,
  execId: string,
  started: Promise<End>,
  attach: (first: ExecInfo) => Promise<End>,
): Promise<End> {
  try {
    return await started;
  } catch (error) {
    if (!isFailure(error, 'EXEC_MISMATCH')) throw error;
    const first = (await handle.execs()).find((exec) => exec.execId === execId);
    if (!first) throw error;
    if (first.command === INTERRUPTED_MARK) throw fate.end({ kind: 'interrupted' });
    return attach(first);
  }
}
