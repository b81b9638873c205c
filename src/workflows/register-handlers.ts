import { CancellationScope, condition, patched, setHandler } from '@temporalio/workflow';
import type { RewindArgs, RewindResult } from '../contracts/checkpoints/checkpoint.ts';
import type {
  ResolveApprovalArgs,
  ResolveApprovalResult,
  RevokeAllowedToolArgs,
  RevokeAllowedToolResult,
  SendMessageArgs,
  SendMessageResult,
  WakeArgs,
} from '../contracts/conversation.ts';
import type { ForkedSignal } from '../contracts/forks/fork.ts';
import { editArguments, rewindConversation } from './activities.ts';
import { afterTask } from './messages/after-task.ts';
import { isObject } from '../contracts/json.ts';
import { isQuestion } from '../contracts/questions/question.ts';
import type { Spent, SubAgentEnd } from '../contracts/sub-agent.ts';
import { revokeTool } from './state/allowed-tools.ts';
import { sameTool } from './state/approval-state.ts';
import type { Approval } from './state/conversation-data.ts';
import { resolve } from './record-approval.ts';
import { takeAnswer } from './state/client-calls.ts';
import { closeConversation, dropQueue, endTurn, judgeMessage, takeMessage, takeWake, wishContext } from './state/conversation-state.ts';
import { statusOf } from './state/conversation-status.ts';
import { takeFork } from './state/fork-state.ts';
import { placeTurn } from './state/place-state.ts';
import { takeQuestion } from './state/questions.ts';
import { endSubAgent, isShared, placeSubAgent } from './state/sub-agents.ts';
import { resumeConversation, wishPause } from './state/pause-state.ts';
import * as messages from './messages/messages.ts';
import { refusalIn } from './messages/refusal-in.ts';
import { answerBefore, answered, isRepeatedSignal, isRepeatedUpdate } from './messages/repeated-requests.ts';
import { newId, type RunningConversation } from './running.ts';
import {
  checkAnswer,
  checkBytes,
  checkCharacters,
  checkMessage,
  checkOpen,
  checkMayRewind,
  checkRevocation,
  checkRewind,
  checkOutput,
  MAX_ID_LENGTH,
  refusedUpdate,
  signalArgs,
} from './messages/validate-updates.ts';

/** Patch id. Before it, a message could join a turn that had ended in the log. */
const TURN_MAY_HAVE_ENDED = 'turn-may-have-ended';

/** Patch id. Before it, a rewind did not wait for a change of the context, which may be made of what the rewind takes back. */
const REWINDS_AFTER_CONTEXT = 'rewinds-after-context';

/** Patch id. Before it, a sandbox that a sub-agent left running during a pause was not frozen. */
const ENDS_IN_PAUSE = 'ends-in-pause';

/** Registers the handlers of the conversation's messages. Operators read the descriptions in the Temporal UI. */
export function registerHandlers(running: RunningConversation): void {
  registerUpdates(running);
  registerRewind(running);
  registerSignals(running);
  const { data } = running;
  setHandler(messages.status, () => statusOf(data, Date.now()), { description: 'State, running turn, budget used, sandbox tier, pending approvals.' });
  setHandler(messages.pendingApprovals, () => statusOf(data, Date.now()).pendingApprovals, {
    description: 'The calls that wait for an answer; answer with the update resolveApproval.',
  });
}

function registerUpdates(running: RunningConversation): void {
  const { data } = running;
  setHandler(messages.sendMessage, (args) => receiveMessage(running, args), {
    validator: (args?: Partial<SendMessageArgs>) => {
      checkCharacters(args);
      checkBytes(args);
      checkOutput(args);
      checkMessage(data, args);
    },
    description:
      'Say something to the agent: {"text": "…"}. While a turn runs: "whenBusy": "queue" (default), "steer" (join it), "interrupt" (end it first) or "reject".',
  });
  setHandler(messages.resolveApproval, (args) => receiveAnswer(running, args), {
    validator: (args?: Partial<ResolveApprovalArgs>) => void (isRepeatedUpdate(data) || checkAnswer(data, args)),
    description:
      'Answer a pending approval: {"callId": "…", "hash": "…", "answer": "allow" | "allow-once" | "deny", "reason": "…", "editedArguments": {…}}. "allow" holds for the tool from now on.',
  });
  setHandler(messages.revokeAllowedTool, (args) => revoke(running, args), {
    validator: (args?: Partial<RevokeAllowedToolArgs>) => {
      checkRevocation(args);
      if (!isRepeatedUpdate(data)) checkOpen(data);
    },
    description: 'Take back that a tool is allowed for the rest of the conversation: {"tool": "shell:run"}. Its next calls ask again.',
  });
}

function registerRewind(running: RunningConversation): void {
  setHandler(messages.rewind, (args) => rewind(running, args), {
    validator: (args?: Partial<RewindArgs>) => {
      checkRewind(args);
      // A turn that seems to run may have ended: the handler looks again.
      if (!running.data.turn && !isRepeatedUpdate(running.data)) checkMayRewind(running.data);
    },
    description:
      'Make files and transcript as they were at a checkpoint, between two turns: {"checkpointId": "cp_…"}. What cannot be undone is listed first; then add "confirm".',
  });
}

function registerSignals(running: RunningConversation): void {
  const { data } = running;
  const onSignal = (args: object | undefined, change: () => void) => {
    if (isRepeatedSignal(data, args)) return;
    running.change(change);
    running.saveSoon();
  };
  setHandler(messages.pause, (args) => onSignal(args, () => wishPause(data, signalArgs(args))), {
    description: 'Pause when the running step is done; {"mode": "now"} freezes the running command where it is. Optional "note".',
  });
  setHandler(messages.resume, (args) => onSignal(args, () => resumeConversation(data, signalArgs(args))), {
    description:
      'Go on after a pause. Grants for a budget that ran out: {"extraTurns": 10, "extraTokens": 100000, "extraWallTimeMs": 600000, "extraStorageMb": 100, "extraCostUsd": 5}.',
  });
  setHandler(messages.wake, (args) => onSignal(args, () => takeWake(data, callIdOf(args), newId('turn'))), {
    description: 'Begin a turn without a message, in which the model reads the newest notes; while a turn runs, its next step reads them anyway.',
  });
  setHandler(messages.subAgentEnded, (args) => onSignal(args, () => takeEnd(running, args)), {
    description: 'A sub-agent of this conversation reports its end.',
  });
  setHandler(messages.subAgentHasPlace, (args) => running.change(() => placeSubAgent(data, signalArgs(args).callId)), {
    description: 'A sub-agent that waits has a place in the tree of conversations.',
  });
  setHandler(messages.turnHasPlace, (args) => running.change(() => placeTurn(data, signalArgs(args).turnId)), {
    description: 'The turn, which waits because as many run as may, has got a place; a worker sends it.',
  });
  setHandler(messages.compact, (args) => onSignal(args, () => wishContext(data, newId('cmp'), signalArgs(args).undo === true)), {
    description: 'Leave older steps out of the prompts, before the next step. {"undo": true} takes the newest of these changes back.',
  });
  setHandler(messages.serverAsks, (args) => onSignal(args, () => takeQuestion(data, signalArgs(args))), {
    description: 'An MCP server asks the person behind the conversation during a call; a worker sends it.',
  });
  setHandler(messages.clientAnswered, (args) => onSignal(args, () => takeAnswer(data, callIdOf(args) ?? '')), {
    description: 'The service says that a client has given the result of a call, {"callId": "…"}. The result itself is in the database.',
  });
  setHandler(messages.forked, (args) => showFork(running, args), { description: 'A fork of this conversation was made; it is shown in the details.' });
  setHandler(messages.newVersion, () => undefined, {
    description: 'Move to the current version of the workers, once no turn runs; only where turns are pinned to versions. A worker sends it.',
  });
  setHandler(messages.interrupt, (args) => onSignal(args, () => endTurn(data, 'interrupted')), {
    description: 'End the running turn now, killing its command; then take the next message.',
  });
  setHandler(messages.stopAfterStep, (args) => onSignal(args, () => endTurn(data, 'stopped')), {
    description: 'End the running turn when its running step is done.',
  });
  setHandler(
    messages.cancel,
    (args) =>
      onSignal(args, () => {
        dropQueue(data);
        endTurn(data, 'cancelled');
      }),
    { description: 'Drop all waiting messages and end the running turn now. The conversation stays open.' },
  );
  setHandler(messages.close, (args) => onSignal(args, () => closeConversation(data)), {
    description: 'End the conversation for good; its sandbox is destroyed, or kept as the agent says.',
  });
}

function takeEnd({ data }: RunningConversation, args: SubAgentEnd | undefined): void {
  const { callId, spent, sandboxRuns } = signalArgs(args);
  if (typeof callId !== 'string' || !isSpent(spent)) return;
  // It may have made the sandbox, or woken it: a rest freezes it.
  if (sandboxRuns === true && (!data.paused || patched(ENDS_IN_PAUSE))) data.sandboxTier = 'running';
  if (isShared(data)) data.guestEnded = sandboxRuns === true || data.guestEnded === 'running' ? 'running' : 'resting';
  const message = endSubAgent(data, callId, spent, Date.now());
  if (message && !data.closing) takeMessage(data, message, newId('turn'));
}

function showFork(running: RunningConversation, args: Partial<ForkedSignal> | undefined): void {
  takeFork(running.data, signalArgs(args));
  running.show();
}

/** Anyone who may signal workflows can send anything. */
function isSpent(given: unknown): given is Spent {
  return (
    isObject(given) &&
    [given['tokens'], given['workedMs'], given['costUsd'], given['steps'] ?? 0].every((amount) => Number.isFinite(amount) && Number(amount) >= 0)
  );
}

function callIdOf(args: WakeArgs | undefined): string | undefined {
  const { callId } = signalArgs(args);
  return typeof callId === 'string' && callId !== '' ? callId.slice(0, MAX_ID_LENGTH) : undefined;
}

/** Messages that are for no running turn are taken at once: the order of what follows is that of the recorded histories. */
function receiveMessage(running: RunningConversation, given: Partial<SendMessageArgs> | undefined): SendMessageResult | Promise<SendMessageResult> {
  const isForTurn = running.data.turn !== undefined && (given?.whenBusy === 'steer' || given?.whenBusy === 'interrupt');
  if (isForTurn && patched(TURN_MAY_HAVE_ENDED)) return afterTask().then(() => acceptMessage(running, given));
  return acceptMessage(running, given);
}

function acceptMessage(running: RunningConversation, given: Partial<SendMessageArgs> | undefined): SendMessageResult {
  const { data } = running;
  // Checked again: another message may have been accepted since the validator ran.
  const args = checkMessage(data, given);
  const message: SendMessageArgs = { ...args, messageId: args.messageId ?? newId('msg') };
  const verdict = judgeMessage(data, message);
  if (verdict.outcome === 'duplicate') return { turnId: verdict.turnId, duplicate: true };
  const turnId = running.change(() => takeMessage(data, message, newId('turn')));
  running.show();
  // A message whose turn starts at once is saved with the start of that turn.
  if (data.turn !== undefined || data.paused !== undefined) running.saveSoon();
  return { turnId, duplicate: false };
}

async function receiveAnswer(running: RunningConversation, given: Partial<ResolveApprovalArgs> | undefined): Promise<ResolveApprovalResult> {
  const { data } = running;
  const before = answerBefore(data) as ResolveApprovalResult | undefined;
  if (before) return before;
  const { args, approval } = checkAnswer(data, given);
  const { callId, reason, by } = args;
  const isAsked = isQuestion(approval.pending.tool);
  // An answer holds for its question alone.
  const answer = isAsked && args.answer === 'allow' ? 'allow-once' : args.answer;
  // Claimed at once, so that a second answer is refused while this one is being recorded.
  approval.claimed = true;
  const effective = await CancellationScope.nonCancellable(async () => {
    // What the server suggests is an answer only if it fits.
    const edited = args.editedArguments ?? (isAsked ? {} : undefined);
    if (edited !== undefined && answer !== 'deny') await applyEdit(running, approval, edited);
    // Each approval is recorded by itself, and a failure of one does not stop the others.
    const others = answer === 'allow' ? sameTool(data, approval) : [];
    const resolution = { answer, ...(reason !== undefined && { reason }) };
    const results = await Promise.all([approval, ...others].map((one) => resolve(running, one, resolution, by)));
    return results[0] === true;
  });
  if (!effective) throw refusedUpdate('APPROVAL_NOT_FOUND', { callId, conversationId: data.conversationId });
  return answered(data, { callId, answer });
}

async function revoke(running: RunningConversation, given: unknown): Promise<RevokeAllowedToolResult> {
  const before = answerBefore(running.data) as RevokeAllowedToolResult | undefined;
  if (before) return before;
  const { tool, by } = checkRevocation(given);
  const revoked = running.change(() => revokeTool(running.data, tool, by));
  // Whoever asks afterwards finds it in the status.
  await running.save();
  return answered(running.data, { tool, revoked });
}

/** Stores edited arguments in place of the model's; arguments that do not fit the tool leave the approval pending. */
async function applyEdit(
  { data }: RunningConversation,
  approval: Approval,
  editedArguments: NonNullable<ResolveApprovalArgs['editedArguments']>,
): Promise<void> {
  const { callId, tool } = approval.pending;
  try {
    const edit = await editArguments({ conversationId: data.conversationId, agentId: data.agentId, callId, tool, editedArguments });
    if (edit.outcome === 'invalid') throw refusedUpdate('TOOL_ARGUMENTS_INVALID', { tool, problems: edit.message });
    approval.pending.hash = edit.hash;
    if (edit.arguments) approval.pending.arguments = edit.arguments;
    else delete approval.pending.arguments;
  } catch (error) {
    approval.claimed = false;
    throw error;
  }
}

/** Messages that come meanwhile wait for its end. */
async function rewind(running: RunningConversation, given: unknown): Promise<RewindResult> {
  const { data } = running;
  const answer = answerBefore(data) as RewindResult | undefined;
  if (answer) return answer;
  const args = checkRewind(given);
  if (data.turn) await afterTask();
  if (data.changesContext && !data.turn && patched(REWINDS_AFTER_CONTEXT)) await condition(() => !data.changesContext);
  checkMayRewind(data);
  const { conversationId, agentId, tenantId } = data;
  data.rewinding = true;
  try {
    const result = await rewindConversation(data, { ...args, conversationId, agentId, tenantId, rewindId: newId('rewind') });
    // It may be taken back, too; the agent writes it again.
    delete data.plan;
    return answered(data, result);
  } catch (error) {
    throw refusalIn(error);
  } finally {
    running.change(() => {
      delete data.rewinding;
      // It woke the sandbox, which now rests anew.
      data.rewound = true;
      if (data.sandboxTier !== 'none' && data.sandboxTier !== 'destroyed') data.sandboxTier = 'running';
    });
    running.saveSoon();
  }
}
