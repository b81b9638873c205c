import type { WorkflowHandle } from '@temporalio/client';
import type { AuditAction, AuditSource } from '../contracts/audit.ts';
import type { PauseArgs, ResolveApprovalArgs, ResolveApprovalResult, ResumeArgs, SendMessageArgs, SendMessageResult } from '../contracts/conversation.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Store } from '../store/store.ts';
import { checkMessageText } from './check-message.ts';
import { temporalFailure } from './temporal/temporal-failures.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { ApproveOptions, SendOptions, SentMessage } from './types.ts';

type SignalName = 'pause' | 'resume' | 'interrupt' | 'stopAfterStep' | 'cancel' | 'close';

export interface ConversationCalls {
  send(conversationId: string, text: string, options?: SendOptions): Promise<SentMessage>;
  approve(conversationId: string, options: ApproveOptions): Promise<ResolveApprovalResult>;
  signal(conversationId: string, name: SignalName, args?: PauseArgs | ResumeArgs): Promise<void>;
  close(conversationId: string): Promise<void>;
  /** Runs a call to Temporal about a conversation and translates its failures into errors of the error table. */
  translated<T>(conversationId: string, call: () => Promise<T>): Promise<T>;
}

/** A worker must process an update. When no worker has done so after this time, the call fails. */
const UPDATE_DEADLINE_MS = 10_000;

/** The messages to a running conversation, with their errors translated. */
export function createConversationCalls({ store, temporal }: { store: Store; temporal: TemporalLink }, by: AuditSource): ConversationCalls {
  /** Written before the call, so that nothing can take effect without a row. */
  const note = async (action: AuditAction, conversationId: string, target: string, details: JsonObject) => {
    const row = await store.conversations.get(conversationId);
    if (row) await store.audit.add({ ...by, action, target, tenantId: row.tenantId, details });
  };
  const translated: ConversationCalls['translated'] = async (conversationId, call) => {
    try {
      return await call();
    } catch (error) {
      const isKnown = async () => (await store.conversations.get(conversationId)) !== undefined;
      throw await temporalFailure(error, { address: temporal.address, conversationId, isKnown });
    }
  };
  const update = <Result>(conversationId: string, name: string, args: SendMessageArgs | ResolveApprovalArgs) =>
    translated(conversationId, async () => {
      const client = await temporal.client();
      const handle: WorkflowHandle = client.workflow.getHandle(conversationId);
      const deadline = Date.now() + UPDATE_DEADLINE_MS;
      return client.withDeadline(deadline, () => handle.executeUpdate<Result, [typeof args]>(name, { args: [args] }));
    });
  const signal: ConversationCalls['signal'] = (conversationId, name, args = {}) =>
    translated(conversationId, async () => {
      const client = await temporal.client();
      // Its workflow takes signals until it has ended, shortly after the row says that it is closed, and does nothing with them.
      if ((await store.conversations.get(conversationId))?.state === 'closed') throw failure('CONVERSATION_CLOSED', { conversationId });
      await client.workflow.getHandle(conversationId).signal(name, args);
    });

  return {
    translated,
    signal,
    async send(conversationId, text, { messageId = makeId('msg', Date.now(), Math.random), whenBusy } = {}) {
      checkMessageText(text);
      await store.messages.put(conversationId, messageId, text);
      // The workflow detects duplicates by the message id. Each update has its own id: for a repeated update id, the server would return its old answer.
      const args: SendMessageArgs = { messageId, ...(whenBusy && { whenBusy }) };
      const sent = await update<SendMessageResult>(conversationId, 'sendMessage', args);
      return { ...sent, messageId };
    },
    async approve(conversationId, options) {
      const hash = options.hash ?? (await hashOf(store, conversationId, options.callId));
      const { callId, answer, editedArguments } = options;
      await note('approval.answer', conversationId, callId, { conversationId, answer, ...(editedArguments && { edited: true }) });
      return update<ResolveApprovalResult>(conversationId, 'resolveApproval', { ...options, hash });
    },
    async close(conversationId) {
      await note('conversation.close', conversationId, conversationId, {});
      try {
        await signal(conversationId, 'close');
      } catch (error) {
        if (!isFailure(error, 'CONVERSATION_CLOSED')) throw error;
      }
    },
  };
}

/**
 * Reads the hash from the ledger, not from the status: the status is updated a moment later, and a client may approve as soon as it reads the event of
 * the approval.
 */
async function hashOf(store: Store, conversationId: string, callId: string): Promise<string> {
  const call = await store.toolCalls.get(callId);
  if (call?.conversationId === conversationId) return call.hash;
  if (!(await store.conversations.get(conversationId))) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  throw failure('APPROVAL_NOT_FOUND', { callId, conversationId });
}
