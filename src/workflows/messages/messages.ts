import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { RewindArgs, RewindResult } from '../../contracts/checkpoints/checkpoint.ts';
import type { ClientAnsweredArgs } from '../../contracts/client-tool.ts';
import type {
  ConversationStatus,
  PauseArgs,
  PendingApproval,
  ResolveApprovalArgs,
  ResolveApprovalResult,
  ResumeArgs,
  RevokeAllowedToolArgs,
  RevokeAllowedToolResult,
  SendMessageArgs,
  SendMessageResult,
  WakeArgs,
} from '../../contracts/conversation.ts';
import type { ProposedCall } from '../../contracts/activities.ts';
import type { ServerAsks } from '../../contracts/questions/question.ts';
import type { ForkedSignal } from '../../contracts/forks/fork.ts';
import type { CompactArgs } from '../../contracts/transcript.ts';
import type { SubAgentEnd } from '../../contracts/sub-agent.ts';

/** A signal that comes again with the same id takes effect once. */
interface Repeatable {
  requestId?: string;
}

// All arguments are optional: the Temporal UI sends none when its field is empty.
export const sendMessage = defineUpdate<SendMessageResult, [Partial<SendMessageArgs>?]>('sendMessage');
export const resolveApproval = defineUpdate<ResolveApprovalResult, [Partial<ResolveApprovalArgs>?]>('resolveApproval');
export const rewind = defineUpdate<RewindResult, [Partial<RewindArgs>?]>('rewind');
export const revokeAllowedTool = defineUpdate<RevokeAllowedToolResult, [Partial<RevokeAllowedToolArgs>?]>('revokeAllowedTool');
export const pause = defineSignal<[(PauseArgs & Repeatable)?]>('pause');
export const resume = defineSignal<[(ResumeArgs & Repeatable)?]>('resume');
export const wake = defineSignal<[WakeArgs?]>('wake');
export const subAgentEnded = defineSignal<[SubAgentEnd?]>('subAgentEnded');
export const subAgentHasPlace = defineSignal<[{ callId: string }?]>('subAgentHasPlace');
export const turnHasPlace = defineSignal<[{ turnId: string }?]>('turnHasPlace');
export const compact = defineSignal<[(CompactArgs & Repeatable)?]>('compact');
export const serverAsks = defineSignal<[ServerAsks<ProposedCall>?]>('serverAsks');
export const clientAnswered = defineSignal<[ClientAnsweredArgs?]>('clientAnswered');
export const forked = defineSignal<[Partial<ForkedSignal>?]>('forked');
export const newVersion = defineSignal('newVersion');
export const interrupt = defineSignal<[Repeatable?]>('interrupt');
export const stopAfterStep = defineSignal<[Repeatable?]>('stopAfterStep');
export const cancel = defineSignal<[Repeatable?]>('cancel');
export const close = defineSignal<[Repeatable?]>('close');
export const status = defineQuery<ConversationStatus>('status');
export const pendingApprovals = defineQuery<PendingApproval[]>('pendingApprovals');
