import { ActivityCancellationType, patched, proxyActivities, proxyLocalActivities, TemporalFailure, type ActivityOptions } from '@temporalio/workflow';
import type {
  CallModelArgs,
  ConversationActivities,
  ExecuteToolArgs,
  ExecuteToolResult,
  FinishTurnArgs,
  HibernateSandboxArgs,
  ProposedCall,
} from '../contracts/activities.ts';
import type { JudgeCallArgs } from '../contracts/judging.ts';
import type { CompactContextArgs } from '../contracts/transcript.ts';
import type { KeepCheckpointArgs, RewindConversationArgs } from '../contracts/checkpoints/checkpoint.ts';
import type { ForkSandboxArgs } from '../contracts/forks/fork.ts';
import { MAX_QUESTION_MS } from '../contracts/questions/question.ts';
import { summaryLine } from '../contracts/markdown.ts';
import { atHost, type At, type Whereabouts } from './hosts/at-host.ts';
import type { StartScheduledArgs } from '../contracts/schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Set wherever an activity may be cancelled: the SDK's default reports a cancellation at once, but the workflow must learn how the work really ended. */
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

// Short activities do not heartbeat: their timeout detects a dead worker. They are idempotent, so they are retried until they succeed.
const records = proxyActivities<ConversationActivities>({
  startToCloseTimeout: 10_000,
  retry: { initialInterval: 200, maximumInterval: 10_000 },
});
/** While a local activity runs, its conversation takes no messages: it has few attempts and little time, and is followed by an activity. */
const localRecords = proxyLocalActivities<Pick<ConversationActivities, 'finishTurn'>>({
  startToCloseTimeout: 2_000,
  scheduleToCloseTimeout: 4_000,
  retry: { initialInterval: 50, maximumAttempts: 3 },
});
/** Patch id. Runs that began before it end each turn with an activity. */
const FINISH_LOCALLY = 'finish-locally';
const models = (summary: string, at: At = {}) =>
  proxyActivities<ConversationActivities>({
    startToCloseTimeout: 30 * MINUTE,
    heartbeatTimeout: 5_000,
    cancellationType,
    // These intervals follow the death of a worker, where no longer wait is needed. The activity itself sets the delay after a failure of the provider or of a
    // service, and the number of failures after which it gives up. This limit of attempts is for a call that kills every worker that runs it.
    retry: { initialInterval: 200, maximumInterval: 2_000, maximumAttempts: 100 },
    summary,
    ...at,
  });
// Missing heartbeats detect a dead worker. A worker of an earlier version sends none: what takes it longer than this is begun again while it goes on, and both
// lead to the same state, since each change is a compare-and-set.
const sandboxes = (summary: string, at: At, maximumAttempts?: number) =>
  proxyActivities<ConversationActivities>({
    startToCloseTimeout: MINUTE,
    heartbeatTimeout: 15_000,
    retry: { initialInterval: 200, maximumInterval: 30_000, ...(maximumAttempts !== undefined && { maximumAttempts }) },
    summary,
    ...at,
  });
/** The conversation whose sandbox is used. */
type Owner = Whereabouts & { conversationId: string };
/** What may be left undone waits once for a host that does not answer. */
const ONCE = { waits: 1 };

export const { acceptMessage, saveStatus, settleCall, recordApproval, editArguments, closeSubAgent, holdSubAgent, reportEnd, restoreContext } = records;
export const { askForPlace, leavePlace } = records;

/**
 * Ends a turn within the workflow task that found its end: an activity would cost one more workflow task. When this fails, for example because Postgres does not answer,
 * an activity ends the turn, and is tried until it succeeds. Both give the event the same key, so it does not matter whether the first has had its effect.
 */
export async function finishTurn(args: FinishTurnArgs): Promise<void> {
  if (!patched(FINISH_LOCALLY)) return records.finishTurn(args);
  const once = { ...args, eventsOf: 'turn' as const };
  try {
    await localRecords.finishTurn(once);
  } catch (error) {
    // Any failure, a cancellation too: in a scope that is cancelled, the activity is cancelled as well.
    if (!(error instanceof TemporalFailure)) throw error;
    await records.finishTurn(once);
  }
}

/** Calls the model for a step; the summary names the step. */
export const callModel = (place: Whereabouts, args: CallModelArgs) => atHost(place, (at) => models(`step ${args.step + 1}`, at).callModel(args));

/** Asks the judge about a call. A judge that does not answer hands over: the person who is asked meanwhile decides. */
export const judgeCall = (args: JudgeCallArgs) =>
  proxyActivities<ConversationActivities>({
    startToCloseTimeout: MINUTE,
    heartbeatTimeout: 5_000,
    cancellationType,
    retry: { initialInterval: 500, maximumInterval: 5_000, maximumAttempts: 3 },
    summary: summaryLine(`judge ${args.tool}`),
  }).judgeCall(args);
/** May call the model for a summary; the summary for the Temporal UI says why. */
export const compactContext = (args: CompactContextArgs) => models(`compact: ${args.reason}`).compactContext(args);

/** A rest only saves resources: it is tried a few times and then left to the next rest. */
export const freezeSandbox = (mode: 'idle' | 'pause', owner: Owner) =>
  atHost(owner, (at) => sandboxes(mode, at, 5).freezeSandbox({ conversationId: owner.conversationId, mode }), ONCE);
export const hibernateSandbox = (summary: string, owner: Owner, otherwise: HibernateSandboxArgs['otherwise']) =>
  atHost(owner, (at) => sandboxes(summary, at, 5).hibernateSandbox({ conversationId: owner.conversationId, otherwise }), ONCE);
/** Packing may take long, so missing heartbeats detect a dead worker. */
export const archiveSandbox = (summary: string, owner: Owner, otherwise: HibernateSandboxArgs['otherwise']) => {
  const archives = (at: At) =>
    proxyActivities<ConversationActivities>({
      startToCloseTimeout: 2 * HOUR,
      heartbeatTimeout: 30_000,
      retry: { initialInterval: 1_000, maximumInterval: MINUTE, maximumAttempts: 5 },
      summary,
      ...at,
    });
  return atHost(owner, (at) => archives(at).archiveSandbox({ conversationId: owner.conversationId, otherwise }), ONCE);
};
/** The first one copies all files, which may take long. */
export const makeCheckpoint = (place: Whereabouts, args: KeepCheckpointArgs) => {
  const checkpoints = (at: At) =>
    proxyActivities<ConversationActivities>({
      startToCloseTimeout: 10 * MINUTE,
      heartbeatTimeout: 15_000,
      retry: { initialInterval: 200, maximumInterval: 5_000, maximumAttempts: 5 },
      summary: args.stepId === undefined ? 'end of the turn' : 'end of a step',
      ...at,
    });
  return atHost(place, (at) => checkpoints(at).keepCheckpoint(args), ONCE);
};
/** No turn starts meanwhile, so it gives up after some minutes. */
export const rewindConversation = (place: Whereabouts, args: RewindConversationArgs) => {
  const rewinds = (at: At) =>
    proxyActivities<ConversationActivities>({
      startToCloseTimeout: 10 * MINUTE,
      heartbeatTimeout: 15_000,
      retry: { initialInterval: 200, maximumInterval: 5_000, maximumAttempts: 30 },
      summary: args.checkpointId,
      ...at,
    });
  return atHost(place, (at) => rewinds(at).rewindConversation(args), ONCE);
};
/** Copies all files of another conversation. No turn starts meanwhile, so it gives up after some minutes. */
export const forkSandbox = (place: Whereabouts, args: ForkSandboxArgs) => {
  const forks = (at: At) =>
    proxyActivities<ConversationActivities>({
      startToCloseTimeout: 30 * MINUTE,
      heartbeatTimeout: 15_000,
      retry: { initialInterval: 200, maximumInterval: 5_000, maximumAttempts: 60 },
      summary: 'files of the fork',
      ...at,
    });
  return atHost(place, (at) => forks(at).forkSandbox(args), ONCE);
};
export const stopSandbox = (summary: string, owner: Owner) =>
  atHost(owner, (at) => sandboxes(summary, at, 5).stopSandbox({ conversationId: owner.conversationId }), ONCE);
export const wakeSandbox = (summary: string, owner: Owner) =>
  atHost(owner, (at) => sandboxes(summary, at, 5).wakeSandbox({ conversationId: owner.conversationId }), ONCE);
/** Cleanup must happen: it is retried until it succeeds or fails with an error that is not retryable. */
export const destroySandbox = (summary: string, owner: Owner) =>
  atHost(owner, (at) => sandboxes(summary, at).destroySandbox({ conversationId: owner.conversationId }));
export const keepSandbox = (summary: string, owner: Owner) =>
  atHost(owner, (at) => sandboxes(summary, at).stopSandbox({ conversationId: owner.conversationId }));
export const interruptCall = (owner: Owner, { summary, callId, inOwnSandbox }: ProposedCall) =>
  atHost(owner, (at) => sandboxes(summary, at, 8).interruptCall({ conversationId: owner.conversationId, callId }), { ...ONCE, isOwn: inOwnSandbox === true });

/** Retried until it succeeds or fails with an error that is not retryable; the schedule sets the time limit on its workflow. */
export const startScheduled = (args: StartScheduledArgs) =>
  proxyActivities<ConversationActivities>({
    startToCloseTimeout: MINUTE,
    heartbeatTimeout: 15_000,
    retry: { initialInterval: 500, maximumInterval: 10_000 },
    summary: summaryLine(`${args.agent} for ${args.user}`),
  }).startScheduled(args);

/** Attaches to a tool call; its activity type is the tool's own id, so that the Temporal UI shows it. */
export function executeTool(place: Whereabouts, call: ProposedCall, args: ExecuteToolArgs): Promise<ExecuteToolResult> {
  const attach = (at: At) => {
    const tools = proxyActivities<Record<string, (args: ExecuteToolArgs) => Promise<ExecuteToolResult>>>({ ...toolOptions(call), ...at });
    const tool = tools[call.tool];
    if (tool === undefined) throw new TypeError(`no proxy for ${call.tool}`);
    return tool(args);
  };
  return atHost(place, attach, { isOwn: call.inOwnSandbox === true });
}

function toolOptions({ retry, timeoutMs, summary, mayAsk }: ProposedCall): ActivityOptions {
  const shared: ActivityOptions = { cancellationType, ...(summary !== '' && { summary }) };
  // The activity enforces the tool's own timeout, in which frozen time does not count. These timeouts only catch an activity that hangs.
  const startToCloseTimeout = timeoutMs + 10 * MINUTE + (mayAsk ? MAX_QUESTION_MS : 0);
  // As above: between two attempts of a call whose workers died there is no growing delay, and the activity itself sets the delay after a failure.
  const patience = { initialInterval: 200, backoffCoefficient: 1 };
  // A later attempt runs the tool only if none before it has claimed the call: its task may have been given to a worker whose machine was gone.
  if (retry === 'once') return { startToCloseTimeout, heartbeatTimeout: 30_000, retry: { ...patience, maximumAttempts: 3 }, ...shared };
  if (retry === 'repeat') return { startToCloseTimeout, heartbeatTimeout: 5_000, retry: { ...patience, maximumAttempts: 5 }, ...shared };
  // The next attempt begins a second after this time: shorter delays than that are not kept by Temporal. Heartbeats are a second apart, also on a machine with many more
  // busy programs than processors. Where a worker lives and is late all the same, two attempts follow the same command until the late one learns that it is over.
  return { startToCloseTimeout: 24 * HOUR, heartbeatTimeout: 4_000, retry: patience, ...shared };
}
