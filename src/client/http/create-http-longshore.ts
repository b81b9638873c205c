import { randomUUID } from 'node:crypto';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { ConversationRow } from '../../store/store.ts';
import { checkMessageText } from '../check-message.ts';
import { listFilter, nameOf, startOptions } from '../client-arguments.ts';
import { createChat, sharedController } from '../create-chat.ts';
import type { Longshore } from '../types.ts';
import { createHttpCalls, createHttpViews, httpConversation } from './http-conversations.ts';
import { createHttpUsage } from './http-usage.ts';
import { createHttpAudit, createHttpKeys, createHttpLimits, createHttpPlugins, createHttpSchedules } from './http-installation.ts';
import { createHttpWebhooks } from './http-webhooks.ts';
import { createHttpLink, type HttpLinkOptions } from './http-link.ts';

const DEFAULT_LIST_LIMIT = 50;
const MOST_PER_PAGE = 200;

/** The client of the HTTP service. It takes the same arguments as the one that reaches Postgres and Temporal itself, and gives the same results and errors. */
export function createHttpLongshore(options: HttpLinkOptions): Longshore {
  const link = createHttpLink(options);
  const closing = sharedController();
  const longshore: Longshore = {
    async start(given) {
      const body = startOptions(given);
      if (body.message !== undefined) checkMessageText(body.message);
      const headers = { 'idempotency-key': randomUUID() };
      const { conversationId, turnId } = (await link.json('/v1/conversations', { method: 'POST', body, headers })) as {
        conversationId: string;
        turnId?: string;
      };
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
    usage: createHttpUsage(link),
    plugins: createHttpPlugins(link),
    keys: createHttpKeys(link),
    audit: createHttpAudit(link),
    limits: createHttpLimits(link),
    schedules: createHttpSchedules(link),
    webhooks: createHttpWebhooks(link),
    [Symbol.asyncDispose]() {
      closing.abort();
      return Promise.resolve();
    },
  };
  return longshore;
}
