import { Context } from '@temporalio/activity';
import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import { operatorText } from '../../contracts/operator-text.ts';
import { comeBackLater, whyCancelled } from './cancellation.ts';
import { deferred } from '../../common/deferred.ts';
import { storeOf } from '../offer/plugin-store.ts';
import { redact } from '../results/redact.ts';
import type { ToolContext } from '../../plugins/api/tool-context.ts';
import { wasAmongOthers } from '../../plugins/api/among-others.ts';
import { startTimeLimit } from './time-limit.ts';
import { createAskPerson } from './ask-person.ts';
import { contextFor, hostsOfQuestions } from './tool-context.ts';
import { failedBy, isRepeatable, sandboxFor, type ToolRun } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';

/** The claim of this attempt found another one, which may have been made by this attempt itself, in a statement whose answer was lost. */
const BEGUN_BEFORE =
  'an earlier attempt at it was stored, and how far that came is not known: its worker died or was stopped, or the answer of Postgres to it was lost';

/** Temporal makes five attempts: the last one fails with its reason. */
const MOST_ATTEMPTS = 5;

/**
 * Runs a tool in the worker's own process. No process can find out later what it did, so only a repeatable tool is run a second time.
 */
export async function runHostTool(run: ToolRun): Promise<RunOutcome> {
  if (run.claim.attempt > 1 && !(await mayRunAgain(run))) return { outcome: 'unknown', why: BEGUN_BEFORE };
  const context = Context.current();
  const { cancellationSignal } = context;
  const sandbox = sandboxFor(run);
  const controller = new AbortController();
  const ended = deferred<RunOutcome>();
  const end = (outcome: RunOutcome) => {
    ended.resolve(outcome);
    sandbox.detach();
    // Another attempt goes on with what a person is asked.
    controller.abort(outcome.outcome === 'later' ? outcome.error : failure('INTERRUPTED', { callId: run.args.callId }));
  };
  const stopped = () => end({ outcome: 'unknown', why: 'its worker was stopped while it ran' });
  const cancel = () => void cancelledOutcome(run, context).then(end, stopped);
  // What detaches from code, such as a pause, detaches from its calls as well: the code goes on later, and its calls with it.
  const detach = () => end({ outcome: 'later', error: failure('DETACHED', { execId: run.args.callId }) });
  const [signal, onAbort] = run.outer ? [run.outer, detach] : [cancellationSignal, cancel];
  using limit = startTimeLimit(run.args.timeoutMs, () => end(overdue(run)));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  run.progress.phase('running');
  try {
    const askPerson = run.outer ? undefined : createAskPerson(run, limit.hold, controller.signal);
    const model = run.tool.mayAskModel ? modelFor(run, controller.signal) : undefined;
    const toolContext = { ...contextFor(run, sandbox, controller.signal), ...(model && { model }), ...(askPerson && { askPerson }) };
    return await Promise.race([answerOf(run, toolContext), ended.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Work that the tool left running can no longer send or note anything.
    controller.abort(failure('INTERRUPTED', { callId: run.args.callId }));
  }
}

function modelFor(run: ToolRun, signal: AbortSignal): NonNullable<ToolContext['model']> {
  const { askModel: ask, modelName: name } = hostsOfQuestions(run, signal)(1);
  return { name, ask };
}

async function answerOf(run: ToolRun, context: ReturnType<typeof contextFor>): Promise<RunOutcome> {
  try {
    return { outcome: 'returned', result: await run.tool.execute(run.claim.call.arguments, context) };
  } catch (error) {
    return isFailure(error, 'PLUGIN_ENDED') ? afterEndOfPlugin(run, error) : failedBy(run, error);
  }
}

/** A call that is the only one of its process has ended it, and would do so again. Any other is repeated, a few times. */
function afterEndOfPlugin(run: ToolRun, error: LongshoreError): RunOutcome {
  if (!isRepeatable(run)) return { outcome: 'unknown', why: operatorText(error.message, undefined, redact) };
  if (!wasAmongOthers(error) || run.claim.attempt >= MOST_ATTEMPTS) return failedBy(run, error);
  return { outcome: 'later', error: failure('PLUGIN_CALL_REPEATED', { tool: run.args.tool, why: error.values['why'] ?? '' }, error) };
}

async function cancelledOutcome(run: ToolRun, context: Context): Promise<RunOutcome> {
  const cancellation = whyCancelled(context);
  if (cancellation === 'requested') return { outcome: 'interrupted', text: 'Interrupted on request while it ran; what it had done until then stays done.' };
  if (await mayRunAgain(run)) return { outcome: 'later', error: comeBackLater(run.args.callId, cancellation, context) };
  return { outcome: 'unknown', why: 'its worker was stopped while it ran' };
}

/** A repeated execution has no further effect, the one before had none, or this one follows what that has begun. */
async function mayRunAgain(run: ToolRun): Promise<boolean> {
  const { args, store, tool } = run;
  return isRepeatable(run) || (await tool.mayGoOn?.(args.callId, storeOf(store, tool.pluginId, args))) === true;
}

function overdue({ args: { tool, timeoutMs } }: ToolRun): RunOutcome {
  return { outcome: 'failed', text: failure('TOOL_FAILED', { tool, problem: `it took longer than ${timeoutMs} ms and was aborted` }).message };
}
