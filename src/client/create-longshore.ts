import { anySignal } from '../common/any-signal.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import { loginName } from '../platform/login-name.ts';
import type { Store } from '../store/store.ts';
import { createAuditCalls } from './audit-calls.ts';
import { awaitReply } from './await-reply.ts';
import {
  approveOptions,
  conversationIdOf,
  eventOptions,
  listFilter,
  nameOf,
  pauseOptions,
  resumeOptions,
  sendOptions,
  seqOf,
  startOptions,
  turnIdOf,
} from './client-arguments.ts';
import { createConversationCalls } from './conversation-calls.ts';
import { createChat, sharedController } from './create-chat.ts';
import { createLimitCalls } from './limit-calls.ts';
import { createKeyCalls } from './key-calls.ts';
import { createPluginCalls } from './plugin-calls.ts';
import { readEvents } from './read-events.ts';
import { createScheduleCalls } from './schedule-calls.ts';
import { startConversation, type AgentSource } from './start-conversation.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { Chat, Longshore } from './types.ts';
import { readUsage } from './usage-calls.ts';
import { createWebhookCalls } from './webhooks/webhook-calls.ts';

export interface ClientParts {
  store: Store;
  temporal: TemporalLink;
  agents: AgentSource;
  taskQueue: string;
  /** Who makes the calls, for the audit log. Default: the user whose process this is. */
  by?: AuditSource;
  /** Addresses that webhooks may go to although they are not public. */
  webhookAddresses?: string[];
}

const DEFAULT_LIST_LIMIT = 50;

/** Creates the client from connections that are open already. Disposing the client closes them. */
export function createLongshore(parts: ClientParts): Longshore {
  const { store, by = { actor: { kind: 'login', id: loginName() ?? 'unknown' } } } = parts;
  const calls = createConversationCalls(parts, by);
  const closing = sharedController();
  const rowOf = async (conversation: string | Chat) => {
    const conversationId = conversationIdOf(conversation);
    const row = await store.conversations.get(conversationId);
    if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
    return row;
  };
  const untilClosed = (signal: AbortSignal | undefined) => (signal ? anySignal([signal, closing.signal]) : closing.signal);

  const longshore: Longshore = {
    async start(options) {
      const started = await startConversation(parts, startOptions(options));
      return createChat(longshore, started.conversationId, started.turnId);
    },
    async chat(conversationId) {
      await rowOf(nameOf('conversationId', conversationId));
      return createChat(longshore, conversationId);
    },
    async list(filter) {
      const { agent, user, limit = DEFAULT_LIST_LIMIT, tenant, state } = listFilter(filter);
      return store.conversations.list({
        limit,
        ...(agent !== undefined && { agentId: agent }),
        ...(user !== undefined && { userId: user }),
        ...(tenant !== undefined && { tenantId: tenant }),
        ...(state !== undefined && { state }),
      });
    },
    async *events(conversation, options) {
      const { afterSeq = 0, signal } = eventOptions(options);
      yield* readEvents(store, conversationIdOf(conversation), { afterSeq, signal: untilClosed(signal) });
    },
    reply: async (conversation, turnId) => awaitReply(store, conversationIdOf(conversation), { turnId: turnIdOf(turnId), signal: closing.signal }),
    status: async (conversation) => (await rowOf(conversation)).status,
    async transcript(conversation, afterSeq) {
      const after = seqOf(afterSeq);
      return store.transcript.read((await rowOf(conversation)).conversationId, after);
    },
    send: async (conversation, text, options) => calls.send(conversationIdOf(conversation), text, sendOptions(options)),
    approve: async (conversation, options) => calls.approve(conversationIdOf(conversation), approveOptions(options)),
    pause: async (conversation, options) => calls.signal(conversationIdOf(conversation), 'pause', pauseOptions(options)),
    resume: async (conversation, grants) => calls.signal(conversationIdOf(conversation), 'resume', resumeOptions(grants)),
    interrupt: async (conversation) => calls.signal(conversationIdOf(conversation), 'interrupt'),
    stopAfterStep: async (conversation) => calls.signal(conversationIdOf(conversation), 'stopAfterStep'),
    cancel: async (conversation) => calls.signal(conversationIdOf(conversation), 'cancel'),
    close: async (conversation) => calls.close(conversationIdOf(conversation)),
    usage: async (options) => readUsage(store, options),
    ...installationCalls(parts, by),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([parts.temporal.close(), store[Symbol.asyncDispose]()]);
    },
  };
  return longshore;
}

/** The calls that are about no conversation. */
function installationCalls(parts: ClientParts, by: AuditSource): Pick<Longshore, 'plugins' | 'keys' | 'audit' | 'limits' | 'schedules' | 'webhooks'> {
  const { store } = parts;
  return {
    plugins: createPluginCalls(store, by),
    keys: createKeyCalls(store, by),
    audit: createAuditCalls(store),
    limits: createLimitCalls(store, by),
    schedules: createScheduleCalls(parts, by),
    webhooks: createWebhookCalls(parts, by),
  };
}
