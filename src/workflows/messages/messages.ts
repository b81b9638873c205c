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

// All arguments are optional: the Temporal UI sends none when its field is empty.
export const sendMessage = defineUpdate<SendMessageResult, [Partial<SendMessageArgs>?]>('sendMessage');
export const resolveApproval = defineUpdate<ResolveApprovalResult, [Partial<ResolveApprovalArgs>?]>('resolveApproval');
export const rewind = defineUpdate<RewindResult, [Partial<RewindArgs>?]>('rewind');
export const revokeAllowedTool = defineUpdate<RevokeAllowedToolResult, [Partial<RevokeAllowedToolArgs>?]>('revokeAllowedTool');
export const pause = defineSignal<[PauseArgs?]>('pause');
export const resume = defineSignal<[ResumeArgs?]>('resume');
export const wake = defineSignal<[WakeArgs?]>('wake');
export const subAgentEnded = defineSignal<[SubAgentEnd?]>('subAgentEnded');
export const subAgentHasPlace = defineSignal<[{ callId: string }?]>('subAgentHasPlace');
export const turnHasPlace = defineSignal<[{ turnId: string }?]>('turnHasPlace');
export const compact = defineSignal<[CompactArgs?]>('compact');
export const serverAsks = defineSignal<[ServerAsks<ProposedCall>?]>('serverAsks');
export const clientAnswered = defineSignal<[ClientAnsweredArgs?]>('clientAnswered');
export const forked = defineSignal<[Partial<ForkedSignal>?]>('forked');
export const newVersion = defineSignal('newVersion');
export const interrupt = defineSignal('interrupt');
export const stopAfterStep = defineSignal('stopAfterStep');
export const cancel = defineSignal('cancel');
export const close = defineSignal('close');
export const status = defineQuery<ConversationStatus>('status');
export const pendingApprovals = defineQuery<PendingApproval[]>('pendingApprovals');
