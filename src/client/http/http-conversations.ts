import { randomUUID } from 'node:crypto';
import { anySignal } from '../../common/any-signal.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { ConversationRow } from '../../store/store.ts';
import { checkMessageText } from '../check-message.ts';
import { approveOptions, conversationIdOf, eventOptions, pauseOptions, resumeOptions, sendOptions, seqOf, turnIdOf } from '../client-arguments.ts';
import { replyOf, type EndedTurn } from '../end-of-turn.ts';
import type { Chat, Longshore, SentMessage } from '../types.ts';
import { httpEvents } from './http-events.ts';
import type { HttpLink } from './http-link.ts';

/** Seconds that one request waits for the end of a turn; then another is sent. */
const WAIT_S = 30;

type Views = Pick<Longshore, 'events' | 'reply' | 'status' | 'transcript'>;
type Calls = Pick<Longshore, 'send' | 'approve' | 'pause' | 'resume' | 'interrupt' | 'stopAfterStep' | 'cancel' | 'close'>;

function at(conversation: string | Chat, rest = ''): string {
  return `/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}${rest}`;
}

export async function httpConversation(link: HttpLink, conversation: string | Chat): Promise<ConversationRow> {
  return (await link.json(at(conversation))) as ConversationRow;
}

/** What reads conversations. `closing` ends what waits. */
export function createHttpViews(link: HttpLink, closing: AbortSignal): Views {
  return {
    async *events(conversation, given) {
      const { afterSeq = 0, signal: stop } = eventOptions(given);
      yield* httpEvents(link, conversationIdOf(conversation), { afterSeq, signal: stop ? anySignal([stop, closing]) : closing });
    },
    async reply(conversation, given) {
      const turnId = turnIdOf(given);
      const query = new URLSearchParams(withoutUndefined({ wait: String(WAIT_S), turnId }));
      for (;;) {
        const { turn } = (await link.json(at(conversation, `/turn?${query.toString()}`), { signal: closing })) as { turn?: EndedTurn };
        if (turn) return replyOf(turn);
      }
    },
    status: async (conversation) => (await httpConversation(link, conversation)).status,
    async transcript(conversation, afterSeq) {
      const entries: StoredEntry[] = [];
      for (let after = seqOf(afterSeq); ;) {
        const query = new URLSearchParams(withoutUndefined({ after: after?.toString() }));
        const page = (await link.json(at(conversation, `/transcript?${query.toString()}`))) as { entries: StoredEntry[]; next?: number };
        entries.push(...page.entries);
        if (page.next === undefined) return entries;
        after = page.next;
      }
    },
  };
}

/** What acts on conversations. */
export function createHttpCalls(link: HttpLink): Calls {
  const signal = async (conversation: string | Chat, name: string, body: object = {}) => {
    await link.json(at(conversation, `/${name}`), { method: 'POST', body });
  };
  return {
    async send(conversation, text, given) {
      const body = { ...sendOptions(given), message: text };
      checkMessageText(text);
      const headers = { 'idempotency-key': randomUUID() };
      const { turnId, duplicate, messageId } = (await link.json(at(conversation, '/messages'), { method: 'POST', body, headers })) as SentMessage;
      return { turnId, duplicate, messageId };
    },
    async approve(conversation, given) {
      const { callId, ...body } = approveOptions(given);
      await httpConversation(link, conversation);
      return (await link.json(`/v1/approvals/${encodeURIComponent(callId)}`, { method: 'POST', body })) as { callId: string; answer: typeof body.answer };
    },
    pause: async (conversation, given) => signal(conversation, 'pause', pauseOptions(given)),
    resume: async (conversation, given) => signal(conversation, 'resume', resumeOptions(given)),
    interrupt: async (conversation) => signal(conversation, 'interrupt'),
    stopAfterStep: async (conversation) => signal(conversation, 'stop-after-step'),
    cancel: async (conversation) => signal(conversation, 'cancel'),
    close: async (conversation) => signal(conversation, 'close'),
  };
}
