import { CancellationScope, setHandler } from '@temporalio/workflow';
import type { ResolveApprovalArgs, ResolveApprovalResult, SendMessageArgs, SendMessageResult, WakeArgs } from '../contracts/conversation.ts';
import { editArguments } from './activities.ts';
import { sameTool } from './state/approval-state.ts';
import type { Approval } from './state/conversation-data.ts';
import { resolve } from './approve-calls.ts';
import { closeConversation, dropQueue, endTurn, judgeMessage, takeMessage, takeWake } from './state/conversation-state.ts';
import { statusOf } from './state/conversation-status.ts';
import { resumeConversation, wishPause } from './state/pause-state.ts';
import * as messages from './messages.ts';
import { newId, type RunningConversation } from './running.ts';
import { checkAnswer, checkCharacters, checkMessage, MAX_ID_LENGTH, refusedUpdate, signalArgs } from './validate-updates.ts';

/** Registers the handlers of the conversation's messages. Operators read the descriptions in the Temporal UI. */
export function registerHandlers(running: RunningConversation): void {
  registerUpdates(running);
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
      checkMessage(data, args);
    },
    description:
      'Say something to the agent: {"text": "…"}. While a turn runs: "whenBusy": "queue" (default), "steer" (join it), "interrupt" (end it first) or "reject".',
  });
  setHandler(messages.resolveApproval, (args) => receiveAnswer(running, args), {
    validator: (args?: Partial<ResolveApprovalArgs>) => void checkAnswer(data, args),
    description:
      'Answer a pending approval: {"callId": "…", "hash": "…", "answer": "allow" | "allow-once" | "deny", "reason": "…", "editedArguments": {…}}. "allow" holds for the tool from now on.',
  });
}

function registerSignals(running: RunningConversation): void {
  const { data } = running;
  const onSignal = (change: () => void) => {
    running.change(change);
    running.saveSoon();
  };
  setHandler(messages.pause, (args) => onSignal(() => wishPause(data, signalArgs(args))), {
    description: 'Pause when the running step is done; {"mode": "now"} freezes the running command where it is. Optional "note".',
  });
  setHandler(messages.resume, (args) => onSignal(() => resumeConversation(data, signalArgs(args))), {
    description:
      'Go on after a pause. Grants for a budget that ran out: {"extraTurns": 10, "extraTokens": 100000, "extraWallTimeMs": 600000, "extraStorageMb": 100, "extraCostUsd": 5}.',
  });
  setHandler(messages.wake, (args) => onSignal(() => takeWake(data, callIdOf(args), newId('turn'))), {
    description: 'Begin a turn without a message, in which the model reads the newest notes; while a turn runs, its next step reads them anyway.',
  });
  setHandler(messages.interrupt, () => onSignal(() => endTurn(data, 'interrupted')), {
    description: 'End the running turn now, killing its command; then take the next message.',
  });
  setHandler(messages.stopAfterStep, () => onSignal(() => endTurn(data, 'stopped')), { description: 'End the running turn when its running step is done.' });
  setHandler(
    messages.cancel,
    () =>
      onSignal(() => {
        dropQueue(data);
        endTurn(data, 'cancelled');
      }),
    { description: 'Drop all waiting messages and end the running turn now. The conversation stays open.' },
  );
  setHandler(messages.close, () => onSignal(() => closeConversation(data)), {
    description: 'End the conversation for good; its sandbox is destroyed, or kept as the agent says.',
  });
}

function callIdOf(args: WakeArgs | undefined): string | undefined {
  const { callId } = signalArgs(args);
  return typeof callId === 'string' && callId !== '' ? callId.slice(0, MAX_ID_LENGTH) : undefined;
}

function receiveMessage(running: RunningConversation, given: Partial<SendMessageArgs> | undefined): SendMessageResult {
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
  const { args, approval } = checkAnswer(data, given);
  const { callId, answer, reason, by } = args;
  // Claimed at once, so that a second answer is refused while this one is being recorded.
  approval.claimed = true;
  const effective = await CancellationScope.nonCancellable(async () => {
    if (args.editedArguments !== undefined && answer !== 'deny') await applyEdit(running, approval, args.editedArguments);
    // Each approval is recorded by itself, and a failure of one does not stop the others.
    const others = answer === 'allow' ? sameTool(data, approval) : [];
    const resolution = { answer, ...(reason !== undefined && { reason }) };
    const results = await Promise.all([approval, ...others].map((one) => resolve(running, one, resolution, by)));
    return results[0] === true;
  });
  if (!effective) throw refusedUpdate('APPROVAL_NOT_FOUND', { callId, conversationId: data.conversationId });
  return { callId, answer };
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
