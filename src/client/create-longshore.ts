import { failure } from '../contracts/errors.ts';
import type { Store } from '../store/store.ts';
import { awaitReply } from './await-reply.ts';
import { createConversationCalls } from './conversation-calls.ts';
import { createPluginCalls } from './plugin-calls.ts';
import { readEvents } from './read-events.ts';
import { createScheduleCalls } from './schedule-calls.ts';
import { startConversation, type AgentSource } from './start-conversation.ts';
import type { TemporalLink } from './temporal.ts';
import type { Chat, EventOptions, Longshore } from './types.ts';

export interface ClientParts {
  store: Store;
  temporal: TemporalLink;
  agents: AgentSource;
  taskQueue: string;
}

const DEFAULT_LIST_LIMIT = 50;

/** The client on parts that are open; disposing it closes them. */
export function createLongshore(parts: ClientParts): Longshore {
  const { store } = parts;
  const calls = createConversationCalls(parts);
  const closing = new AbortController();
  const idOf = (conversation: string | Chat) => (typeof conversation === 'string' ? conversation : conversation.id);
  const rowOf = async (conversation: string | Chat) => {
    const conversationId = idOf(conversation);
    const row = await store.conversations.get(conversationId);
    if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
    return row;
  };
  const untilClosed = (signal: AbortSignal | undefined) => (signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);

  const longshore: Longshore = {
    async start(options) {
      const started = await startConversation(parts, options);
      return createChat(longshore, started.conversationId, started.turnId);
    },
    async chat(conversationId) {
      await rowOf(conversationId);
      return createChat(longshore, conversationId);
    },
    list: ({ agent, user, limit = DEFAULT_LIST_LIMIT, tenant, state } = {}) =>
      store.conversations.list({
        limit,
        ...(agent !== undefined && { agentId: agent }),
        ...(user !== undefined && { userId: user }),
        ...(tenant !== undefined && { tenantId: tenant }),
        ...(state !== undefined && { state }),
      }),
    events: (conversation, { afterSeq = 0, signal } = {}) => readEvents(store, idOf(conversation), { afterSeq, signal: untilClosed(signal) }),
    reply: (conversation, turnId) => awaitReply(store, idOf(conversation), { turnId, signal: closing.signal }),
    status: async (conversation) => (await rowOf(conversation)).status,
    async transcript(conversation, afterSeq) {
      return store.transcript.read((await rowOf(conversation)).conversationId, afterSeq);
    },
    send: (conversation, text, options) => calls.send(idOf(conversation), text, options),
    approve: (conversation, options) => calls.approve(idOf(conversation), options),
    pause: (conversation, options) => calls.signal(idOf(conversation), 'pause', options),
    resume: (conversation, grants) => calls.signal(idOf(conversation), 'resume', grants),
    interrupt: (conversation) => calls.signal(idOf(conversation), 'interrupt'),
    stopAfterStep: (conversation) => calls.signal(idOf(conversation), 'stopAfterStep'),
    cancel: (conversation) => calls.signal(idOf(conversation), 'cancel'),
    close: (conversation) => calls.close(idOf(conversation)),
    plugins: createPluginCalls(store),
    schedules: createScheduleCalls(parts),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([parts.temporal.close(), store[Symbol.asyncDispose]()]);
    },
  };
  return longshore;
}

/** One conversation's face; disposing it ends its own iterations only. */
function createChat(longshore: Longshore, id: string, firstTurnId?: string): Chat {
  const disposed = new AbortController();
  let newestTurnId = firstTurnId;
  const signalOf = ({ signal }: EventOptions) => (signal ? AbortSignal.any([signal, disposed.signal]) : disposed.signal);
  return {
    id,
    async send(text, options) {
      const sent = await longshore.send(id, text, options);
      newestTurnId = sent.turnId;
      return sent;
    },
    events: (options = {}) => longshore.events(id, { ...options, signal: signalOf(options) }),
    reply: (turnId = newestTurnId) => longshore.reply(id, turnId),
    status: () => longshore.status(id),
    transcript: (afterSeq) => longshore.transcript(id, afterSeq),
    pause: (options) => longshore.pause(id, options),
    resume: (grants) => longshore.resume(id, grants),
    approve: (options) => longshore.approve(id, options),
    interrupt: () => longshore.interrupt(id),
    stopAfterStep: () => longshore.stopAfterStep(id),
    cancel: () => longshore.cancel(id),
    close: () => longshore.close(id),
    [Symbol.asyncDispose]() {
      disposed.abort();
      return Promise.resolve();
    },
  };
}
