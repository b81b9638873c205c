import { withoutUndefined } from '../common/without-undefined.ts';
import { anySignal } from '../common/any-signal.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import { createHostClient, type HostClient } from '../hosts/client/host-client.ts';
import { createLogger } from '../platform/log.ts';
import { loginName } from '../platform/login-name.ts';
import type { ConversationRow, Store } from '../store/store.ts';
import { readAttachment } from './attachments/attachment-calls.ts';
import { createAuditCalls } from './audit-calls.ts';
import { answerOf } from './answer-of-turn.ts';
import { awaitTurn, replyOf } from './end-of-turn.ts';
import {
  approveOptions,
  compactOptions,
  conversationIdOf,
  eventOptions,
  forkOptions,
  listFilter,
  nameOf,
  pauseOptions,
  resumeOptions,
  revokeOptions,
  rewindOptions,
  sendOptions,
  seqOf,
  startOptions,
  toolOf,
  treeOptions,
  turnIdOf,
  zodOf,
} from './client-arguments.ts';
import { claimOptions, handlersOf, resultOptions, serveOptions } from './client-tools/client-tool-arguments.ts';
import { createClientToolCalls } from './client-tools/client-tool-calls.ts';
import { serveTools } from './client-tools/serve-tools.ts';
import { createConversationCalls, type ConversationCalls } from './conversation-calls.ts';
import { createChat, sharedController } from './create-chat.ts';
import { refuseWhenClosed } from './closing/refuse-when-closed.ts';
import { createLimitCalls } from './limit-calls.ts';
import { createKeyCalls } from './key-calls.ts';
import { createMemoryCalls } from './memory/memory-calls.ts';
import { createPluginCalls } from './plugin-calls.ts';
import { readEvents } from './events/read-events.ts';
import { readTree, startOfTree } from './events/read-tree.ts';
import { createSandboxCalls } from './sandbox-calls.ts';
import { createScheduleCalls } from './schedule-calls.ts';
import { forkConversation } from './fork-conversation.ts';
import { importConversation } from './import/import-conversation.ts';
import { archiveOf, importOptions } from './import/import-options.ts';
import { checkAgents, checkId, findAgent, firstStatus, startConversation, type AgentSource, type StartRequest } from './start-conversation.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { Chat, Longshore } from './types.ts';
import { readUsage } from './usage-calls.ts';
import { createWebhookCalls } from './webhooks/webhook-calls.ts';

export interface ClientParts {
  store: Store;
  temporal: TemporalLink;
  agents: AgentSource;
  taskQueue: string;
  /** The sandboxes, through the workers of their hosts. Default: with connections of its own. */
  hosts?: HostClient;
  /** Who makes the calls, for the audit log. Default: the user whose process this is. */
  by?: AuditSource;
  /** Names the request that makes the calls: another attempt of it has no further effect on a conversation. */
  once?: string;
  /** Addresses that webhooks may go to although they are not public. */
  webhookAddresses?: string[];
}

const DEFAULT_LIST_LIMIT = 50;

/** Creates the client from connections that are open already. Disposing the client closes them. */
export function createLongshore(parts: ClientParts): Longshore {
  const { store, by = { actor: { kind: 'login', id: loginName() ?? 'unknown' } } } = parts;
  const calls = createConversationCalls(parts, by);
  const closing = sharedController();
  const rowOf = async (conversation: string | Pick<Chat, 'id'>) => {
    const conversationId = conversationIdOf(conversation);
    const row = await store.conversations.get(conversationId);
    if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
    return row;
  };
  const untilClosed = (signal: AbortSignal | undefined) => (signal ? anySignal([signal, closing.signal]) : closing.signal);

  const open: Longshore = {
    async start(options) {
      const started = await startConversation(parts, startOptions(options));
      return createChat(longshore, started.conversationId, started.turnId);
    },
    async chat(conversationId) {
      await rowOf(nameOf('conversationId', conversationId));
      return createChat(longshore, conversationId);
    },
    async list(filter) {
      const { agent: agentId, user: userId, limit = DEFAULT_LIST_LIMIT, tenant: tenantId, state, forkedFrom } = listFilter(filter);
      return store.conversations.list({ limit, ...withoutUndefined({ agentId, userId, tenantId, state, forkedFrom }) });
    },
    ...eventCalls(store, untilClosed),
    ...turnCalls(store, closing.signal),
    status: async (conversation) => (await rowOf(conversation)).status,
    async transcript(conversation, afterSeq) {
      const after = seqOf(afterSeq);
      return store.transcript.readAll((await rowOf(conversation)).conversationId, after);
    },
    attachment: async (conversation, attachmentId) => readAttachment(store, nameOf('attachmentId', attachmentId), await rowOf(conversation)),
    checkpoints: async (conversation) => store.checkpoints.list((await rowOf(conversation)).conversationId),
    rewind: async (conversation, checkpointId, options) =>
      calls.rewind(conversationIdOf(conversation), { checkpointId: nameOf('checkpointId', checkpointId), ...rewindOptions(options) }),
    ...forkCalls(parts, rowOf, () => longshore),
    ...callsOfHosts({ ...parts, hosts: hostsOf(parts), closing: closing.signal, rowOf }, () => longshore),
    send: async (conversation, text, options) => calls.send(conversationIdOf(conversation), text, sendOptions(options)),
    ...approvalCalls(calls),
    pause: async (conversation, options) => calls.signal(conversationIdOf(conversation), 'pause', pauseOptions(options)),
    resume: async (conversation, grants) => calls.signal(conversationIdOf(conversation), 'resume', resumeOptions(grants)),
    ...clientToolCalls(store, calls),
    async tools(conversation, handlers, options) {
      const { signal } = serveOptions(options);
      await serveTools(longshore, conversationIdOf(conversation), handlersOf(handlers), untilClosed(signal));
    },
    ...endingCalls(calls),
    compact: async (conversation, options) => calls.signal(conversationIdOf(conversation), 'compact', compactOptions(options)),
    close: async (conversation) => calls.close(conversationIdOf(conversation)),
    usage: async (options) => readUsage(store, options),
    ...installationCalls(parts, by),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([parts.temporal.close(), store[Symbol.asyncDispose]()]);
    },
  };
  const longshore = refuseWhenClosed(open, closing.signal);
  return longshore;
}

/** The calls that end the running turn. */
function endingCalls(calls: ConversationCalls): Pick<Longshore, 'interrupt' | 'stopAfterStep' | 'cancel'> {
  return {
    interrupt: async (conversation) => calls.signal(conversationIdOf(conversation), 'interrupt'),
    stopAfterStep: async (conversation) => calls.signal(conversationIdOf(conversation), 'stopAfterStep'),
    cancel: async (conversation) => calls.signal(conversationIdOf(conversation), 'cancel'),
  };
}

function approvalCalls(calls: ConversationCalls): Pick<Longshore, 'approve' | 'revokeAllowed'> {
  return {
    approve: async (conversation, options) => calls.approve(conversationIdOf(conversation), approveOptions(options)),
    revokeAllowed: async (conversation, tool, options) =>
      calls.revokeAllowed(conversationIdOf(conversation), { tool: toolOf(tool), ...revokeOptions(options) }),
  };
}

function forkCalls(
  parts: ClientParts,
  rowOf: (conversation: string | Pick<Chat, 'id'>) => Promise<ConversationRow>,
  longshore: () => Longshore,
): Pick<Longshore, 'fork'> {
  return {
    async fork(conversation, options) {
      const given = forkOptions(options);
      const { conversationId, turnId } = await forkConversation(parts, await rowOf(conversation), given);
      return createChat(longshore(), conversationId, turnId);
    },
  };
}

/** The calls that reach sandboxes through the workers of their hosts. */
function callsOfHosts(
  parts: ClientParts & Parameters<typeof createSandboxCalls>[0],
  longshore: () => Longshore,
): Pick<Longshore, 'diff' | 'export' | 'import'> {
  const starting = {
    agent: (id: string) => findAgent(parts.agents, id),
    statusOf: firstStatus,
    start: (request: StartRequest) => startConversation(parts, request),
  };
  return {
    ...createSandboxCalls(parts),
    async import(archive, given) {
      const options = importOptions(given);
      if (options.conversationId !== undefined) checkId(options.conversationId);
      // Before an archive is read for which no workflow could be started.
      await parts.temporal.client();
      const { conversationId, report } = await importConversation({ ...parts, ...starting }, archiveOf(archive), options);
      return { chat: createChat(longshore(), conversationId), report };
    },
  };
}

function hostsOf({ store, hosts }: ClientParts): HostClient {
  return hosts ?? createHostClient({ hosts: store.hosts, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }) });
}

/** The calls that follow events. */
function eventCalls(store: Store, untilClosed: (signal: AbortSignal | undefined) => AbortSignal): Pick<Longshore, 'events' | 'treeEvents'> {
  return {
    async *events(conversation, options) {
      const { afterSeq = 0, signal } = eventOptions(options);
      yield* readEvents(store, conversationIdOf(conversation), { afterSeq, signal: untilClosed(signal) });
    },
    async *treeEvents(conversation, options) {
      const { after, signal } = treeOptions(options);
      yield* readTree(store, await startOfTree(store, conversationIdOf(conversation), after), untilClosed(signal));
    },
  };
}

/** The calls about tools that clients run. */
function clientToolCalls(store: Store, calls: Pick<ConversationCalls, 'signal'>): Pick<Longshore, 'waitingCalls' | 'claimCall' | 'giveResult'> {
  const tell = (conversationId: string, callId: string) => calls.signal(conversationId, 'clientAnswered', { callId });
  const made = createClientToolCalls({ store, tell });
  return {
    waitingCalls: async (conversation) => made.waitingCalls(conversationIdOf(conversation)),
    claimCall: async (conversation, options) => made.claimCall(conversationIdOf(conversation), claimOptions(options)),
    giveResult: async (conversation, options) => made.giveResult(conversationIdOf(conversation), resultOptions(options)),
  };
}

/** The calls that wait for the end of a turn. */
function turnCalls(store: Store, signal: AbortSignal): Pick<Longshore, 'reply' | 'answer'> {
  const endOf = async (conversation: string | Chat, turnId: string | undefined) =>
    awaitTurn(store, conversationIdOf(conversation), { turnId: turnIdOf(turnId), signal });
  return {
    reply: async (conversation, turnId) => replyOf(await endOf(conversation, turnId)),
    answer: async (conversation, schema, turnId) => {
      const given = zodOf(schema);
      return answerOf(await endOf(conversation, turnId), given);
    },
  };
}

/** The calls that are about no conversation. */
function installationCalls(
  parts: ClientParts,
  by: AuditSource,
): Pick<Longshore, 'plugins' | 'keys' | 'audit' | 'limits' | 'memory' | 'schedules' | 'webhooks'> {
  const { store } = parts;
  return {
    plugins: createPluginCalls(store, by),
    keys: createKeyCalls(store, by),
    audit: createAuditCalls(store),
    limits: createLimitCalls(store, by),
    memory: createMemoryCalls(store, by),
    schedules: createScheduleCalls(parts, by),
    webhooks: createWebhookCalls({ ...parts, checkAgents: (ids) => checkAgents(parts.agents, ids) }, by),
  };
}
