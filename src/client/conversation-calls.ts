import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { AttachmentContent } from '../contracts/attachments/media.ts';
import type { AuditAction, AuditSource } from '../contracts/audit.ts';
import type { ClientAnsweredArgs, ClientTools } from '../contracts/client-tool.ts';
import type { CompactArgs } from '../contracts/transcript.ts';
import type {
  PauseArgs,
  ResolveApprovalArgs,
  ResolveApprovalResult,
  ResumeArgs,
  RevokeAllowedToolArgs,
  RevokeAllowedToolResult,
  SendMessageArgs,
  SendMessageResult,
} from '../contracts/conversation.ts';
import type { RewindArgs, RewindResult } from '../contracts/checkpoints/checkpoint.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Store } from '../store/store.ts';
import { keepAttachments } from './attachments/keep-attachments.ts';
import { readAttachments } from './attachments/read-attachments.ts';
import { acceptTools, type RequestedTools } from './client-tools/requested-tools.ts';
import { checkMessageText } from './check-message.ts';
import { findAgent, type AgentSource } from './start-conversation.ts';
import { checkOutputIn } from './types/output-schema.ts';
import { fateOf } from './temporal/fate-of.ts';
import { signalOnce } from './temporal/signal-once.ts';
import { temporalFailure, type Absence } from './temporal/temporal-failures.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { ApproveOptions, SendRequest, SentMessage } from './types.ts';

type SignalName = 'pause' | 'resume' | 'clientAnswered' | 'interrupt' | 'stopAfterStep' | 'cancel' | 'close' | 'compact';

export interface ConversationCalls {
  send(conversationId: string, text: string, options?: SendRequest): Promise<SentMessage>;
  approve(conversationId: string, options: ApproveOptions): Promise<ResolveApprovalResult>;
  signal(conversationId: string, name: SignalName, args?: PauseArgs | ResumeArgs | CompactArgs | ClientAnsweredArgs): Promise<void>;
  revokeAllowed(conversationId: string, args: RevokeAllowedToolArgs): Promise<RevokeAllowedToolResult>;
  rewind(conversationId: string, args: RewindArgs): Promise<RewindResult>;
  close(conversationId: string): Promise<void>;
  /** Runs a call to Temporal about a conversation and translates its failures into errors of the error table. */
  translated<T>(conversationId: string, call: () => Promise<T>): Promise<T>;
}

/** A worker must process an update. When no worker has done so after this time, the call fails. Where one has died with it, Temporal gives it to another after ten seconds. */
const UPDATE_DEADLINE_MS = 15_000;

/** Files are written, perhaps after the sandbox was fetched from its archive. */
const REWIND_DEADLINE_MS = 300_000;

interface CallParts {
  store: Store;
  temporal: Pick<TemporalLink, 'address' | 'client' | 'keys'>;
  agents: AgentSource;
  /** Names the request that makes the calls: another attempt of it has no further effect, and gets the result of the first. */
  once?: string;
}

/** The messages to a running conversation, with their errors translated. */
export function createConversationCalls({ store, temporal, agents, once }: CallParts, by: AuditSource): ConversationCalls {
  const note = notesOf(store, by);
  const translated: ConversationCalls['translated'] = async (conversationId, call) => {
    try {
      return await call();
    } catch (error) {
      throw await temporalFailure(error, { address: temporal.address, conversationId, whyMissing: () => whyMissing({ store, temporal }, conversationId) });
    }
  };
  const update = createUpdate(temporal, translated);
  /** A closed conversation takes no message; one that is repeated may have been taken before. */
  const sentBefore = async (error: unknown, conversationId: string, messageId: string): Promise<SendMessageResult> => {
    const turnId = isFailure(error, 'CONVERSATION_CLOSED') ? await store.transcript.turnOf(conversationId, messageId) : undefined;
    if (turnId === undefined) throw error;
    return { turnId, duplicate: true };
  };
  const signal: ConversationCalls['signal'] = (conversationId, name, args = {}) =>
    translated(conversationId, async () => {
      const client = await temporal.client();
      // Its workflow takes signals until it has ended, shortly after the row says that it is closed, and does nothing with them.
      if ((await store.conversations.stateOf(conversationId)) === 'closed') throw failure('CONVERSATION_CLOSED', { conversationId });
      // Also without a request: what is sent again since an answer of Temporal was lost may arrive in a later run.
      await signalOnce(client, temporal, { workflowId: conversationId, signalName: name, args, requestId: once ?? randomUUID() });
    });

  return {
    translated,
    signal,
    async send(conversationId, text, { messageId = makeId('msg', Date.now(), Math.random), whenBusy, output, attachments, clientTools } = {}) {
      checkMessageText(text, attachments);
      const contents = await readAttachments(attachments);
      if (output) await checkOutputIn(store, conversationId, output);
      const accepted = clientTools && (await acceptToolsIn({ store, agents }, conversationId, clientTools));
      const isNew = await putMessage(store, conversationId, messageId, { text, output, attachments: contents, clientTools: accepted });
      const turnId = isNew ? undefined : await store.transcript.turnOf(conversationId, messageId);
      if (turnId !== undefined) return { turnId, messageId, duplicate: true };
      // The workflow detects duplicates of messages that wait, and of the newest ones, by the message id. Each update has its own id: for a repeated update
      // id, the server would return its old answer.
      const args: SendMessageArgs = { messageId, ...(whenBusy && { whenBusy }), ...(output && { output: true }) };
      const sent = await update<SendMessageResult>(conversationId, 'sendMessage', args).catch((error: unknown) => sentBefore(error, conversationId, messageId));
      return { ...sent, messageId };
    },
    async approve(conversationId, options) {
      const hash = options.hash ?? (await hashOf(store, conversationId, options.callId));
      const { callId, answer, editedArguments } = options;
      await note('approval.answer', conversationId, callId, { conversationId, answer, ...(editedArguments && { edited: true }) });
      return update<ResolveApprovalResult>(conversationId, 'resolveApproval', withoutUndefined({ ...options, hash }), { updateId: once });
    },
    async revokeAllowed(conversationId, args) {
      await note('approval.revoke', conversationId, conversationId, { tool: args.tool });
      return update<RevokeAllowedToolResult>(conversationId, 'revokeAllowedTool', args, { updateId: once });
    },
    rewind: (conversationId, args) => update<RewindResult>(conversationId, 'rewind', args, { updateId: once, deadlineMs: REWIND_DEADLINE_MS }),
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

/** The row of a conversation is made before its workflow; a workflow that was terminated has not closed its row. */
async function whyMissing({ store, temporal }: Pick<CallParts, 'store' | 'temporal'>, conversationId: string): Promise<Absence> {
  const state = await store.conversations.stateOf(conversationId);
  if (state === undefined || state === 'closed') return state ?? 'unknown';
  const fate = await fateOf((await temporal.client()).workflow, conversationId);
  // One that is alive has started since the call.
  return fate === 'absent' || fate === 'alive' ? 'not-started' : 'closed';
}

/** @throws CLIENT_TOOLS_REFUSED, CONVERSATION_NOT_FOUND */
async function acceptToolsIn(
  { store, agents }: Pick<CallParts, 'store' | 'agents'>,
  conversationId: string,
  requested: RequestedTools,
): Promise<ClientTools | undefined> {
  const row = await store.conversations.get(conversationId);
  if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  return acceptTools(await findAgent(agents, row.agentId), requested, { tenant: row.tenantId, unattended: row.status.unattended });
}

interface NewMessage {
  text: string;
  output: JsonObject | undefined;
  attachments: AttachmentContent[];
  clientTools: ClientTools | undefined;
}

/** Stores the message, and its attachments before it, unless there is a message with this id: then that one counts. Returns whether it is new. */
async function putMessage(store: Store, conversationId: string, messageId: string, { text, attachments, ...more }: NewMessage): Promise<boolean> {
  if (attachments.length === 0) return store.messages.put(conversationId, messageId, text, more);
  if (await store.messages.read(conversationId, messageId)) return false;
  return store.messages.put(conversationId, messageId, text, { ...more, attachments: await keepAttachments(store, conversationId, attachments) });
}

type UpdateArgs = SendMessageArgs | ResolveApprovalArgs | RevokeAllowedToolArgs | RewindArgs;

interface UpdateOptions {
  /** For a repeated id, the server returns the result of the first. */
  updateId?: string | undefined;
  deadlineMs?: number;
}

/** Sends an update and waits for its result. */
function createUpdate(temporal: CallParts['temporal'], translated: ConversationCalls['translated']) {
  return <Result>(conversationId: string, name: string, args: UpdateArgs, { updateId, deadlineMs = UPDATE_DEADLINE_MS }: UpdateOptions = {}) =>
    translated(conversationId, async () => {
      const client = await temporal.client();
      const handle: WorkflowHandle = client.workflow.getHandle(conversationId);
      const deadline = Date.now() + deadlineMs;
      return client.withDeadline(deadline, () =>
        handle.executeUpdate<Result, [UpdateArgs]>(name, { args: [args], ...(updateId !== undefined && { updateId }) }),
      );
    });
}

/** Written before a call, so that nothing can take effect without a row. */
function notesOf(store: Store, by: AuditSource) {
  return async (action: AuditAction, conversationId: string, target: string, details: JsonObject): Promise<void> => {
    const row = await store.conversations.get(conversationId);
    if (row) await store.audit.add({ ...by, action, target, tenantId: row.tenantId, details });
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
