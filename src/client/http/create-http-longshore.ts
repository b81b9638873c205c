import { anySignal } from '../../common/any-signal.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { ConversationRow } from '../../store/store.ts';
import { checkMessageText } from '../check-message.ts';
import { conversationIdOf, forkOptions, listFilter, nameOf, startOptions } from '../client-arguments.ts';
import { handlersOf, serveOptions } from '../client-tools/client-tool-arguments.ts';
import { serveTools } from '../client-tools/serve-tools.ts';
import { createChat, sharedController } from '../create-chat.ts';
import { refuseWhenClosed } from '../closing/refuse-when-closed.ts';
import type { Longshore } from '../types.ts';
import { attachmentsOf } from './http-attachments.ts';
import { createHttpCalls, createHttpViews, httpConversation } from './http-conversations.ts';
import { createHttpDiff } from './http-diff.ts';
import { createHttpExport } from './http-export.ts';
import { createHttpImport } from './http-import.ts';
import { createHttpUsage } from './http-usage.ts';
import { createHttpAudit, createHttpKeys, createHttpLimits, createHttpPlugins, createHttpSchedules } from './http-installation.ts';
import { createHttpMemory } from './http-memory.ts';
import { createHttpWebhooks } from './http-webhooks.ts';
import { createHttpLink, type HttpLink, type HttpLinkOptions } from './http-link.ts';
import { checkId } from '../start-conversation.ts';

const DEFAULT_LIST_LIMIT = 50;
const MOST_PER_PAGE = 200;

/** The client of the HTTP service. It takes the same arguments as the one that reaches Postgres and Temporal itself, and gives the same results and errors. */
export function createHttpLongshore(options: HttpLinkOptions): Longshore {
  const link = createHttpLink(options);
  const closing = sharedController();
  const open: Longshore = {
    async start(given) {
      const { attachments, ...options } = startOptions(given);
      if (options.message !== undefined) checkMessageText(options.message, attachments);
      if (options.conversationId !== undefined) checkId(options.conversationId);
      const { conversationId, turnId } = await begin(link, '/v1/conversations', { ...options, ...(await attachmentsOf(attachments)) });
      return createChat(longshore, conversationId, turnId);
    },
    async fork(conversation, given) {
      const body = forkOptions(given);
      if (body.message !== undefined) checkMessageText(body.message);
      if (body.conversationId !== undefined) checkId(body.conversationId);
      const path = `/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}/fork`;
      const { conversationId, turnId } = await begin(link, path, body);
      return createChat(longshore, conversationId, turnId);
    },
    async chat(conversationId) {
      await httpConversation(link, nameOf('conversationId', conversationId));
      return createChat(longshore, conversationId);
    },
    async list(filter) {
      const { limit = DEFAULT_LIST_LIMIT, ...rest } = listFilter(filter);
      const rows: ConversationRow[] = [];
      for (let cursor: string | undefined; ;) {
        const query = new URLSearchParams(withoutUndefined({ ...rest, cursor, limit: String(Math.min(MOST_PER_PAGE, limit - rows.length)) }));
        const { conversations, next } = (await link.json(`/v1/conversations?${query.toString()}`)) as { conversations: ConversationRow[]; next?: string };
        rows.push(...conversations);
        if (next === undefined || rows.length >= limit) return rows;
        cursor = next;
      }
    },
    ...createHttpViews(link, closing.signal),
    ...createHttpCalls(link),
    ...createHttpDiff(link),
    ...createHttpExport(link, closing.signal),
    ...createHttpImport(link, () => longshore),
    async tools(conversation, handlers, options) {
      const { signal } = serveOptions(options);
      const stopped = signal ? anySignal([signal, closing.signal]) : closing.signal;
      await serveTools(longshore, conversationIdOf(conversation), handlersOf(handlers), stopped);
    },
    usage: createHttpUsage(link),
    plugins: createHttpPlugins(link),
    keys: createHttpKeys(link),
    audit: createHttpAudit(link),
    limits: createHttpLimits(link),
    memory: createHttpMemory(link),
    schedules: createHttpSchedules(link),
    webhooks: createHttpWebhooks(link),
    [Symbol.asyncDispose]() {
      closing.abort();
      return Promise.resolve();
    },
  };
  const longshore = refuseWhenClosed(open, closing.signal);
  return longshore;
}

async function begin(link: HttpLink, path: string, body: object): Promise<{ conversationId: string; turnId?: string }> {
  return (await link.json(path, { method: 'POST', body })) as { conversationId: string; turnId?: string };
}
