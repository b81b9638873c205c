import { randomUUID } from 'node:crypto';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import { failure } from '../../contracts/errors.ts';
import type { ConversationRow } from '../../store/store.ts';
import { checkMessageText } from '../check-message.ts';
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
} from '../client-arguments.ts';
import { createChat, sharedController } from '../create-chat.ts';
import type { EndedTurn } from '../end-of-turn.ts';
import type { Chat, Longshore, SentMessage } from '../types.ts';
import { httpEvents } from './http-events.ts';
import { createHttpKeys, createHttpPlugins, createHttpSchedules } from './http-installation.ts';
import { createHttpLink, type HttpLinkOptions } from './http-link.ts';

const DEFAULT_LIST_LIMIT = 50;
const MOST_PER_PAGE = 200;
/** Seconds that one request waits for the end of a turn; then another is sent. */
const WAIT_S = 30;

/** The client of the HTTP service. It takes the same arguments as the one that reaches Postgres and Temporal itself, and gives the same results and errors. */
export function createHttpLongshore(options: HttpLinkOptions): Longshore {
  const link = createHttpLink(options);
  const closing = sharedController();
  const at = (conversation: string | Chat, rest = '') => `/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}${rest}`;
  const rowOf = async (conversation: string | Chat) => (await link.json<ConversationRow>(at(conversation))).body;
  const signal = async (conversation: string | Chat, name: string, body: object = {}) => {
    await link.json(at(conversation, `/${name}`), { method: 'POST', body });
  };

  const longshore: Longshore = {
    async start(given) {
      const body = startOptions(given);
      if (body.message !== undefined) checkMessageText(body.message);
      const headers = { 'idempotency-key': randomUUID() };
      const { conversationId, turnId } = (await link.json<{ conversationId: string; turnId?: string }>('/v1/conversations', { method: 'POST', body, headers }))
        .body;
      return createChat(longshore, conversationId, turnId);
    },
    async chat(conversationId) {
      await rowOf(nameOf('conversationId', conversationId));
      return createChat(longshore, conversationId);
    },
    async list(filter) {
      const { limit = DEFAULT_LIST_LIMIT, ...rest } = listFilter(filter);
      const rows: ConversationRow[] = [];
      for (let cursor: string | undefined; ;) {
        const query = new URLSearchParams(withoutUndefined({ ...rest, cursor, limit: String(Math.min(MOST_PER_PAGE, limit - rows.length)) }));
        const { conversations, next } = (await link.json<{ conversations: ConversationRow[]; next?: string }>(`/v1/conversations?${query}`)).body;
        rows.push(...conversations);
        if (next === undefined || rows.length >= limit) return rows;
        cursor = next;
      }
    },
    async *events(conversation, given) {
      const { afterSeq = 0, signal: stop } = eventOptions(given);
      yield* httpEvents(link, conversationIdOf(conversation), { afterSeq, signal: stop ? AbortSignal.any([stop, closing.signal]) : closing.signal });
    },
    async reply(conversation, given) {
      const turnId = turnIdOf(given);
      const query = new URLSearchParams(withoutUndefined({ wait: String(WAIT_S), turnId }));
      for (;;) {
        const { body } = await link.json<{ turn?: EndedTurn }>(at(conversation, `/turn?${query}`), { signal: closing.signal });
        if (body.turn) return textOf(body.turn);
      }
    },
    status: async (conversation) => (await rowOf(conversation)).status,
    async transcript(conversation, afterSeq) {
      const query = new URLSearchParams(withoutUndefined({ after: seqOf(afterSeq)?.toString() }));
      return (await link.json<{ entries: StoredEntry[] }>(at(conversation, `/transcript?${query}`))).body.entries;
    },
    async send(conversation, text, given) {
      const body = { ...sendOptions(given), message: text };
      checkMessageText(text);
      const headers = { 'idempotency-key': randomUUID() };
      const { turnId, duplicate, messageId } = (await link.json<SentMessage>(at(conversation, '/messages'), { method: 'POST', body, headers })).body;
      return { turnId, duplicate, messageId };
    },
    async approve(conversation, given) {
      const { callId, ...body } = approveOptions(given);
      await rowOf(conversation);
      return (await link.json<{ callId: string; answer: typeof body.answer }>(`/v1/approvals/${encodeURIComponent(callId)}`, { method: 'POST', body })).body;
    },
    pause: async (conversation, given) => signal(conversation, 'pause', pauseOptions(given)),
    resume: async (conversation, given) => signal(conversation, 'resume', resumeOptions(given)),
    interrupt: async (conversation) => signal(conversation, 'interrupt'),
    stopAfterStep: async (conversation) => signal(conversation, 'stop-after-step'),
    cancel: async (conversation) => signal(conversation, 'cancel'),
    close: async (conversation) => signal(conversation, 'close'),
    plugins: createHttpPlugins(link),
    keys: createHttpKeys(link),
    schedules: createHttpSchedules(link),
    [Symbol.asyncDispose]() {
      closing.abort();
      return Promise.resolve();
    },
  };
  return longshore;
}

function textOf({ turnId, outcome, message, reply }: EndedTurn): string {
  if (outcome !== 'finished') throw failure('TURN_FAILED', { turnId, outcome, problem: message ?? 'no reason was given' });
  return reply;
}
