import { Context } from '@temporalio/activity';
import { anySignal } from '../../common/any-signal.ts';
import { isExecOf } from '../../contracts/call-ids.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { ExecInfo } from '../../sandbox/api/commands.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import { comeBackLater, whyCancelled } from './cancellation.ts';
import { deferred } from '../../common/deferred.ts';
import { contextFor } from './tool-context.ts';
import { resultContentOf } from '../results/tool-result.ts';
import { failedBy, forgetFor, isRepeatable, lostJournal, openFor, sandboxFor, type ToolRun } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';
import type { OutsideEnding } from './fate/call-fate.ts';
import type { CallSandbox } from './tool-sandbox.ts';

/** One error for all calls: creating it takes a stack trace, and few tools ever read it. */
const ENDED = new DOMException('The call of the tool has ended', 'AbortError');
/** How many containers may die under one call before it fails; a call is repeated only if no command had started, or if the tool may be repeated. */
const MAX_REBUILDS = 3;
const TAIL_BYTES = 4000;
const FILES_LOST = "the sandbox's container died and all its files are gone, with them the record of what this call had started; nothing was run again";

/**
 * Runs a tool whose effects are commands of the sandbox. Running it again is always safe: its commands are named after the call, and the
 * supervisor attaches to those that were started. Cancellation detaches from them; only an interruption kills them.
 */
export async function runContainerTool(run: ToolRun): Promise<RunOutcome> {
  for (let rebuilds = 0; rebuilds <= MAX_REBUILDS; rebuilds += 1) {
    const sandbox = sandboxFor(run);
    const outcome = await execute(run, sandbox);
    const ending = sandbox.ending();
    if (!ending) {
      if (outcome.outcome === 'failed') await endCommands(run, sandbox);
      return withConclusion(run, sandbox, outcome);
    }
    if (ending.kind !== 'lost') return outcomeOf(run, ending, outcome);
    const broken = await findBroken(run);
    if (broken) return broken;
  }
  return {
    outcome: 'failed',
    text: failure('TOOL_FAILED', { tool: run.args.tool, problem: 'its sandbox died repeatedly before the call could start' }).message,
  };
}

async function execute(run: ToolRun, sandbox: CallSandbox): Promise<RunOutcome> {
  const { cancellationSignal: cancelled } = Context.current();
  // A call of code also ends with the attempt that follows the code.
  const cancellationSignal = run.outer ? anySignal([cancelled, run.outer]) : cancelled;
  const ended = new AbortController();
  const context = contextFor(run, sandbox, anySignal([cancellationSignal, ended.signal]));
  const answer = Promise.resolve()
    .then(() => run.tool.execute(run.claim.call.arguments, context))
    .then(
      (result): RunOutcome => ({ outcome: 'returned', result }),
      (error: unknown): RunOutcome => {
        sandbox.note(error);
        return failedBy(run, error);
      },
    );
  const released = deferred<RunOutcome>();
  const letGo = () => {
    sandbox.detach();
    released.resolve({ outcome: 'detached' });
  };
  if (cancellationSignal.aborted) letGo();
  cancellationSignal.addEventListener('abort', letGo, { once: true });
  const overdue = watchIdle(run, sandbox, released.resolve);
  try {
    const outcome = await Promise.race([answer, released.promise, run.methods.suspended]);
    if (outcome.outcome === 'suspended' || outcome.outcome === 'later') sandbox.detach();
    return outcome;
  } finally {
    clearInterval(overdue);
    cancellationSignal.removeEventListener('abort', letGo);
    ended.abort(ENDED);
  }
}

/** A call that has failed must have no further effect, even if its tool returned before its commands ended. */
async function endCommands({ log, args: { tool } }: ToolRun, sandbox: CallSandbox): Promise<void> {
  await sandbox.endCommands().catch((error: unknown) => log.warn({ tool, err: error }, 'commands of a call that has failed could not be ended'));
}

/** When a call of a tool ended the code, that tool's answer is appended to the code's own result. */
async function withConclusion(run: ToolRun, sandbox: CallSandbox, outcome: RunOutcome): Promise<RunOutcome> {
  const concludedBy = sandbox.concludedBy();
  const conclusion = concludedBy === undefined ? undefined : await run.store.toolCalls.get(concludedBy);
  if (outcome.outcome !== 'returned' || !conclusion) return outcome;
  const { content, isError } = await resultContentOf(run.tool, outcome.result);
  const told: ContentPart = { type: 'text', text: `The code was ended at its call of ${conclusion.tool}, which answered:` };
  return { outcome: 'returned', result: { content: [...content, told, ...(conclusion.content ?? [])], isError } };
}

/** Commands have their own timeout, which does not count frozen time; this timeout is for what the tool does between them. */
function watchIdle(run: ToolRun, sandbox: CallSandbox, resolve: (outcome: RunOutcome) => void): NodeJS.Timeout {
  const { timeoutMs, tool } = run.args;
  let idleMs = 0;
  const tickMs = Math.min(1000, Math.max(10, timeoutMs / 4));
  return setInterval(() => {
    idleMs = sandbox.isBusy() ? 0 : idleMs + tickMs;
    if (idleMs < timeoutMs) return;
    resolve({ outcome: 'failed', text: failure('TOOL_FAILED', { tool, problem: `it did nothing for ${timeoutMs} ms and was ended` }).message });
  }, tickMs);
}

function outcomeOf(run: ToolRun, ending: Exclude<OutsideEnding, { kind: 'lost' }>, outcome: RunOutcome): RunOutcome {
  switch (ending.kind) {
    case 'interrupted': {
      const { stdout, stderr } = ending.result ?? {};
      const shown = [stdout?.text, stderr?.text].filter((text) => text).join('\n');
      return { outcome: 'interrupted', text: `Interrupted on request.${shown ? ` Its output until then:\n${shown}` : ''}` };
    }
    case 'unreachable':
      forgetFor(run);
      return { outcome: 'later', error: ending.error };
    case 'detached':
      break;
  }
  if (outcome.outcome === 'suspended' || outcome.outcome === 'later') return outcome;
  // A tool that had returned when the cancellation came keeps its result.
  if (outcome.outcome === 'returned') return outcome;
  const cancellation = whyCancelled();
  return cancellation === 'requested' ? { outcome: 'detached' } : { outcome: 'later', error: comeBackLater(run.args.callId, cancellation) };
}

/**
 * Runs after the container died: the journal on the volume tells whether a command of this call was running. If the call may be repeated, that command is
 * removed from the journal.
 */
async function findBroken(run: ToolRun): Promise<RunOutcome | undefined> {
  const { callId } = run.args;
  forgetFor(run);
  try {
    const handle = await openFor(run);
    if (!isRepeatable(run) && (await lostJournal(run, handle))) return { outcome: 'unknown', why: FILES_LOST };
    const broken = (await handle.execs()).filter(({ execId, state }) => state === 'lost' && isExecOf(callId, execId));
    const [first] = broken;
    if (!first) return undefined;
    if (!isRepeatable(run)) return { outcome: 'unknown', why: await describe(handle, first) };
    for (const { execId } of broken) await handle.forget(execId);
    return undefined;
  } catch (error) {
    forgetFor(run);
    return withoutSandbox(error);
  }
}

function withoutSandbox(error: unknown): RunOutcome {
  if (isFailure(error, 'INTERRUPTED')) return { outcome: 'interrupted', text: 'Interrupted on request.' };
  if (!isFailure(error) || error.retryable) return { outcome: 'later', error };
  return { outcome: 'unknown', why: `the sandbox's container died, and its state cannot be read: ${error.message}` };
}

async function describe(handle: WorkerHandle, broken: ExecInfo): Promise<string> {
  const begun = `the sandbox's container died while this command ran, and it was not run again: ${cutMiddle(broken.command, 300)}`;
  const tail = await readTail(handle, broken);
  return tail ? `${begun}\nLast output before that:\n${tail}` : `${begun}\nIt had written nothing.`;
}

/** The journal is readable in the sandbox. A tail that cannot be read must not delay the result. */
async function readTail(handle: WorkerHandle, { execId }: ExecInfo): Promise<string> {
  try {
    const journal = `/home/.longshore/execs/${execId}`;
    const result = await handle.run(`tail -c ${TAIL_BYTES} ${journal}/stdout; tail -c ${TAIL_BYTES} ${journal}/stderr`, { timeoutMs: 10_000 });
    return result.stdout.text.trim();
  } catch {
    return '';
  }
}
