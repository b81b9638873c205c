import type { ExecuteToolArgs } from '../contracts/activities.ts';
import { failure, isFailure, type ErrorCode } from '../contracts/errors.ts';
import type { ToolSandbox } from '../plugins/define-plugin.ts';
import type { CommandResult, SandboxHandle } from '../sandbox/sandbox.ts';
import { INTERRUPTED_MARK } from './interrupt-call.ts';

/** What ended a call's use of its sandbox from outside, whatever the tool made of it. */
export type Ending =
  | { kind: 'interrupted'; result?: CommandResult }
  /** The container died. */
  | { kind: 'lost'; error: unknown }
  /** Docker, the supervisor or the database cannot be reached; a later attempt may attach. */
  | { kind: 'unreachable'; error: unknown }
  | { kind: 'detached' };

/** The sandbox as one attempt at a call sees it. */
export interface CallSandbox extends ToolSandbox {
  /** The first thing that ended it; from then on nothing more is started. */
  ending(): Ending | undefined;
  /** Takes an error that a tool threw for what it says about the sandbox. */
  note(error: unknown): void;
  /** Lets go of what runs; it runs on. */
  detach(): void;
  /** True while a command of the call runs or the sandbox is being opened. */
  isBusy(): boolean;
}

export interface CallSandboxParts {
  args: ExecuteToolArgs;
  open: () => Promise<SandboxHandle>;
  onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
}

const UNREACHABLE: ErrorCode[] = ['SANDBOX_UNREACHABLE', 'SANDBOX_CONFLICT', 'DOCKER_UNAVAILABLE', 'DOCKER_FAILED', 'POSTGRES_UNAVAILABLE'];

/** Names a call's commands after it (`<callId>-1`, `-2`, …), so that a repeated `execute` attaches to what it had started. */
export function createCallSandbox({ args, open, onOutput }: CallSandboxParts): CallSandbox {
  const release = new AbortController();
  const follow = {
    signal: release.signal,
    onStdout: (chunk: Buffer) => onOutput('stdout', chunk),
    onStderr: (chunk: Buffer) => onOutput('stderr', chunk),
  };
  const fate = createFate(args.callId);
  let named = 0;
  let busy = 0;
  return {
    handle: () => guarded(async (handle) => handle),
    exec(command, options = {}) {
      const execId = nextId();
      return guarded((handle) => runOnce(handle, execId, () => handle.run(command, { timeoutMs: args.timeoutMs, ...options, ...follow, execId })));
    },
    start(command, options = {}) {
      const execId = nextId();
      return guarded((handle) => handle.start(command, { timeoutMs: 0, ...options, execId }));
    },
    ending: fate.ending,
    note: (error) => void fate.endBy(error),
    detach() {
      fate.end({ kind: 'detached' });
      release.abort();
    },
    isBusy: () => busy > 0,
  };

  async function runOnce(handle: SandboxHandle, execId: string, run: () => Promise<CommandResult>): Promise<CommandResult> {
    const result = await run().catch((error: unknown) => {
      if (!isFailure(error, 'EXEC_MISMATCH')) throw error;
      return attachToFirst(handle, execId);
    });
    if (result.status === 'killed') throw fate.end({ kind: 'interrupted', result });
    return result;
  }

  /** The id is taken by another command: by the mark of an interruption, or by what an earlier attempt of a tool that is not repeatable word for word started. */
  async function attachToFirst(handle: SandboxHandle, execId: string): Promise<CommandResult> {
    const first = (await handle.execs()).find((exec) => exec.execId === execId);
    if (first?.command === INTERRUPTED_MARK) throw fate.end({ kind: 'interrupted' });
    return handle.attach(execId, undefined, follow);
  }

  async function guarded<Result>(use: (handle: SandboxHandle) => Promise<Result>): Promise<Result> {
    if (fate.ending()) throw fate.refusal();
    busy += 1;
    try {
      const handle = await open();
      if (fate.ending()) throw fate.refusal();
      return await use(handle);
    } catch (error) {
      throw fate.endBy(error) ?? error;
    } finally {
      busy -= 1;
    }
  }

  function nextId(): string {
    named += 1;
    return `${args.callId}-${named}`;
  }
}

/** The first ending counts. */
function createFate(callId: string) {
  let ending: Ending | undefined;
  const refusal = (): unknown => {
    if (ending?.kind === 'lost' || ending?.kind === 'unreachable') return ending.error;
    return ending?.kind === 'interrupted' ? failure('INTERRUPTED', { callId }) : failure('DETACHED', { execId: callId });
  };
  return {
    ending: () => ending,
    /** The error for whoever asks more of the sandbox. */
    refusal,
    end(how: Ending): unknown {
      ending ??= how;
      return refusal();
    },
    /** As `end`, when the error says that something ended; undefined when it is the tool's own affair or comes after the end. */
    endBy(error: unknown): unknown {
      const how = endingOf(error);
      if (!how || ending) return undefined;
      ending = how;
      return refusal();
    },
  };
}

function endingOf(error: unknown): Ending | undefined {
  if (!isFailure(error)) return undefined;
  if (error.code === 'SANDBOX_LOST') return { kind: 'lost', error };
  if (error.code === 'INTERRUPTED') return { kind: 'interrupted' };
  return UNREACHABLE.includes(error.code) ? { kind: 'unreachable', error } : undefined;
}
