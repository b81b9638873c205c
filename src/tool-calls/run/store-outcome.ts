import type { ExecuteToolResult } from '../../contracts/activities.ts';
import { failure } from '../../contracts/errors.ts';
import { mayUseSandbox } from '../../contracts/sub-agents/sandbox-use.ts';
import { placeOf, type WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { NewEvent } from '../../store/store.ts';
import type { CallResult, ToolCallRow } from '../../store/tool-call-rows.ts';
import { retryOf } from '../../plugins/approval/judge-calls.ts';
import { cutText } from '../results/cut-text.ts';
import { isBlobStoreAway, keepMedia } from '../results/keep-media.ts';
import { toValue } from '../results/method-answer.ts';
import { settleCallsOfCode } from '../results/settle-call.ts';
import { onlyNoted } from '../results/only-noted.ts';
import { patiently } from './fate/patiently.ts';
import { forgetFor, tierAfterRun, type Reached, type ToolRun } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';
import { errorContent, shorten, resultTextOf, resultContentOf } from '../results/tool-result.ts';

const MAX_EVENT_BYTES = 4000;

/**
 * Stores how a call ended, in one transaction with its transcript entry and events. Returns the outcome for the workflow, and passes a result to `onStored`.
 * Throws what has to be retried later.
 */
export async function storeOutcome(run: ToolRun, outcome: RunOutcome, onStored?: (result: CallResult) => void): Promise<ExecuteToolResult> {
  await run.methods.stored();
  const goesOn = outcome.outcome === 'detached' || outcome.outcome === 'suspended' || outcome.outcome === 'later';
  const told = await run.output.drain(goesOn);
  if (goesOn) {
    if (told.length > 0) await run.store.events.append(run.args.conversationId, told).catch((error: unknown) => warn(run, error));
    if (outcome.outcome === 'later') throw outcome.error;
    return { ...outcome, sandboxTier: await tierAfterRun(run) };
  }
  run.progress.phase('storing');
  await keepTrying(run, () => settleRest(run));
  const result = await keepTrying(run, () => resultOf(run, outcome));
  await keepTrying(run, () => noteBehavior(run, result));
  const tier = tierAfterRun(run);
  // Awaited below; a failure must not be raised before the result is stored.
  tier.catch(() => undefined);
  const { args, claim, store, workedIn } = run;
  const events = [...told, closingEvent(run, outcome, result)];
  const settled = await keepTrying(run, () => store.toolCalls.settle(args.callId, claim.fence, result, events, placeOf(workedIn)));
  if (!settled) return keepTrying(run, () => storedByOther(run));
  run.awaited.get(run.args.callId)?.({ ...result, tool: run.args.tool });
  onStored?.(result);
  const verdict = await keepTrying(run, () => verdictOf(run, result));
  return { ...verdict, sandboxTier: await tier.catch(() => keepTrying(run, () => tierAfterRun(run))) };
}

/** The code of the call has ended: so do the calls that it has left, also those of an attempt whose worker died. */
async function settleRest({ args, claim, store, hasCalls, outer, methods }: ToolRun): Promise<void> {
  if (outer || !(hasCalls || claim.attempt > 1)) return;
  await methods.end();
  await settleCallsOfCode(store, args);
}

/** The outcome for the workflow of a call that has its result. */
export async function tellStored(run: Stored, call: ToolCallRow): Promise<ExecuteToolResult> {
  const { state, content = [], isError } = call;
  if (state === 'proposed' || state === 'running') throw failure('DETACHED', { execId: call.callId });
  return { ...(await verdictOf(run, { state, content, isError })), sandboxTier: await tierAfterRun(run) };
}

type Stored = Pick<ToolRun, 'args' | 'store' | 'registry'> & Reached & { tool: ToolRun['tool'] | undefined };
type Verdict = ExecuteToolResult extends infer R ? (R extends { sandboxTier: unknown } ? Omit<R, 'sandboxTier'> : never) : never;

async function verdictOf(run: Stored, { state, content, isError }: CallResult): Promise<Verdict> {
  if (state === 'interrupted') return { outcome: 'interrupted' };
  if (state === 'unknown') return { outcome: 'unknown', why: cut(resultTextOf(content)) };
  const noted = await onlyNoted(run, { state, content, isError });
  return { outcome: 'finished', isError, ...(run.tool?.kind === 'behavior' && { kind: 'behavior' as const }), ...(noted && { onlyNoted: true as const }) };
}

async function resultOf(run: ToolRun, outcome: Exclude<RunOutcome, { outcome: 'detached' | 'suspended' | 'later' }>): Promise<CallResult> {
  switch (outcome.outcome) {
    case 'returned': {
      const { content, isError } = await resultContentOf(run.tool, outcome.result);
      const value = isError || run.claim.call.parentCallId === undefined ? undefined : toValue(outcome.result);
      const shortened = await shorten(content, (whole) => keepWhole(run, whole));
      return {
        state: 'finished',
        content: await keepMedia(run, shortened, runsOnce(run) ? untilBlobStoreIsThere(run) : undefined),
        isError,
        ...(value !== undefined && { value }),
      };
    }
    case 'failed':
      return { state: 'failed', ...errorContent(cut(outcome.text)) };
    case 'interrupted':
      return { state: 'interrupted', content: await shorten(errorContent(outcome.text).content, (whole) => keepWhole(run, whole)), isError: true };
    case 'unknown':
      break;
  }
  const text = `It is not known whether this call took effect: ${outcome.why}\nCheck the current state before you repeat it.`;
  return { state: 'unknown', ...errorContent(text) };
}

function closingEvent(run: ToolRun, outcome: RunOutcome, { content, isError }: CallResult): NewEvent {
  const { callId, tool, turnId, stepId } = run.args;
  if (outcome.outcome === 'unknown') return { type: 'tool.unknown', turnId, stepId, data: { callId, tool, why: outcome.why } };
  const durationMs = Math.max(0, Math.round(performance.now() - run.claim.begunAt));
  return { type: 'tool.finished', turnId, stepId, data: { callId, tool, isError, text: cut(resultTextOf(content)), durationMs } };
}

/** Adds a note for the model about what a `behavior` did for code; the code continues with the value. */
async function noteBehavior({ args, claim, store, tool }: ToolRun, { content, isError }: CallResult): Promise<void> {
  const text = resultTextOf(content);
  if (tool.kind !== 'behavior' || claim.call.parentCallId === undefined || isError || text.trim() === '') return;
  await store.transcript.append(args.conversationId, args.turnId, args.stepId, `noted-${args.callId}`, { role: 'note', text: `${args.tool}: ${text}` });
}

/**
 * Retries when the database is unavailable: only this process has the result. Where a later attempt would have it again, it is left to that after half a minute; a call
 * that runs once would count as unknown then, although its result is here.
 */
function keepTrying<Result>(run: ToolRun, work: () => Promise<Result>): Promise<Result> {
  return patiently(work, (error) => warn(run, error), runsOnce(run) ? { most: Infinity } : {});
}

function untilBlobStoreIsThere(run: ToolRun) {
  return <Result>(work: () => Promise<Result>) => patiently(work, (error) => warn(run, error), { isAway: isBlobStoreAway });
}

function runsOnce({ tool }: ToolRun): boolean {
  return retryOf(tool) === 'once';
}

/**
 * Another process has stored a result, or has claimed the call later and will store one. When neither is so, the files on which this result was made are gone: the
 * next attempt finds out what is known of the call.
 */
async function storedByOther(run: ToolRun): Promise<ExecuteToolResult> {
  const call = await run.store.toolCalls.get(run.args.callId);
  if (!call) throw failure('TOOL_CALL_NOT_FOUND', { callId: run.args.callId });
  if (run.workedIn && call.state === 'running' && call.fence === run.claim.fence) {
    forgetFor(run);
    throw failure('SANDBOX_SUPERSEDED', { sandboxId: run.workedIn.sandboxId, problem: 'the sandbox has other files now' });
  }
  return tellStored(run, call);
}

async function keepWhole(run: ToolRun, whole: string): Promise<string | undefined> {
  const path = `/home/user/.longshore-results/${run.args.callId}.txt`;
  try {
    // A sandbox that is shared to be read is not written to.
    if (!mayUseSandbox(await run.opened.useOf(run.args.conversationId), 'files:write')) return undefined;
    const handle = run.handle ?? (await openIfThere(run));
    await handle?.writeFile(path, whole);
    return handle && path;
  } catch (error) {
    warn(run, error);
    return undefined;
  }
}

async function openIfThere(run: ToolRun): Promise<WorkerHandle | undefined> {
  const row = await run.opened.rowOf(run.args.conversationId);
  const hasProcesses = row?.state === 'running' || row?.state === 'frozen' || row?.state === 'hibernated';
  return hasProcesses ? (await run.opened.open(run.args)).handle : undefined;
}

function cut(text: string): string {
  return cutText(text, MAX_EVENT_BYTES, (omitted) => `\n[… ${omitted} bytes left out …]\n`);
}

function warn(run: ToolRun, error: unknown): void {
  run.log.warn({ err: error, callId: run.args.callId }, 'could not store; trying again or going on without it');
}
