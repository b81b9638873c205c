import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type {
  ConversationStatus,
  PauseArgs,
  PendingApproval,
  ResolveApprovalArgs,
  ResolveApprovalResult,
  ResumeArgs,
  SendMessageArgs,
  SendMessageResult,
  WakeArgs,
} from '../contracts/conversation.ts';

// All arguments are optional: the Temporal UI sends none when its field is empty.
export const sendMessage = defineUpdate<SendMessageResult, [Partial<SendMessageArgs>?]>('sendMessage');
export const resolveApproval = defineUpdate<ResolveApprovalResult, [Partial<ResolveApprovalArgs>?]>('resolveApproval');
export const pause = defineSignal<[PauseArgs?]>('pause');
export const resume = defineSignal<[ResumeArgs?]>('resume');
export const wake = defineSignal<[WakeArgs?]>('wake');
export const interrupt = defineSignal('interrupt');
export const stopAfterStep = defineSignal('stopAfterStep');
export const cancel = defineSignal('cancel');
export const close = defineSignal('close');
export const status = defineQuery<ConversationStatus>('status');
export const pendingApprovals = defineQuery<PendingApproval[]>('pendingApprovals');
