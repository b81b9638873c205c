import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../common/any-signal.ts';
import { spread } from './spread.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Checkpoint, RewindResult } from '../../contracts/checkpoints/checkpoint.ts';
import type { RevokeAllowedToolResult } from '../../contracts/conversation.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { ConversationRow } from '../../store/store.ts';
import type { ClaimedCall, ClientCall } from '../../contracts/client-tool.ts';
import { checkMessageText } from '../check-message.ts';
import {
  approveOptions,
  compactOptions,
  conversationIdOf,
  eventOptions,
  nameOf,
  pauseOptions,
  resumeOptions,
  revokeOptions,
  rewindOptions,
  sendOptions,
  seqOf,
  toolOf,
  treeOptions,
  turnIdOf,
  zodOf,
} from '../client-arguments.ts';
import { answerOf } from '../answer-of-turn.ts';
import { claimOptions, resultOptions } from '../client-tools/client-tool-arguments.ts';
import { resultText } from '../client-tools/result-text.ts';
import { replyOf, type EndedTurn } from '../end-of-turn.ts';
import type { Chat, Longshore, SentMessage } from '../types.ts';
import { attachmentsOf, httpAttachment } from './http-attachments.ts';
import { httpEvents, httpTreeEvents } from './http-events.ts';
import { askAgainAfter, type HttpLink } from './http-link.ts';

/** Seconds that one request waits for the end of a turn; then another is sent. */
const WAIT_S = 30;
/** Between two attempts to wait on. Each has made some requests itself. */
const AWAY_PAUSE_MS = 1_000;

type Views = Pick<Longshore, 'events' | 'treeEvents' | 'reply' | 'answer' | 'status' | 'transcript' | 'checkpoints' | 'attachment'>;
type Calls = Pick<
  Longshore,
  | 'waitingCalls'
  | 'claimCall'
  | 'giveResult'
  | 'send'
  | 'approve'
  | 'revokeAllowed'
  | 'pause'
  | 'resume'
  | 'interrupt'
  | 'stopAfterStep'
  | 'cancel'
  | 'close'
  | 'compact'
  | 'rewind'
>;

function at(conversation: string | Pick<Chat, 'id'>, rest = ''): string {
  return `/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}${rest}`;
}

function toolAt(conversation: string | Chat, callId: string, action: 'claim' | 'result'): string {
  return at(conversation, `/tools/${encodeURIComponent(callId)}/${action}`);
}

export async function httpConversation(link: HttpLink, conversation: string | Chat): Promise<ConversationRow> {
  return (await link.json(at(conversation))) as ConversationRow;
}

/** Asks again and again while the service is away or has no room for the request: a wait goes on over its restart, as iterations of events do. */
async function whenBack<T>(ask: () => Promise<T>, closing: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const againMs = askAgainAfter(error);
      if (againMs === undefined) throw error;
      await sleep(againMs + spread(AWAY_PAUSE_MS), undefined, { signal: closing }).catch(() => undefined);
    }
  }
}

/** What reads conversations. `closing` ends what waits. */
export function createHttpViews(link: HttpLink, closing: AbortSignal): Views {
  const endOf = async (conversation: string | Chat, given: string | undefined) => {
    const query = new URLSearchParams(withoutUndefined({ wait: String(WAIT_S), turnId: turnIdOf(given) }));
    const ask = async () => ((await link.json(at(conversation, `/turn?${query.toString()}`), { signal: closing })) as { turn?: EndedTurn }).turn;
    for (let turn = await ask(); ; turn = await whenBack(ask, closing)) if (turn) return turn;
  };
  return {
    async *events(conversation, given) {
      const { afterSeq = 0, signal: stop } = eventOptions(given);
      yield* httpEvents(link, conversationIdOf(conversation), { afterSeq, signal: stop ? anySignal([stop, closing]) : closing });
    },
    async *treeEvents(conversation, given) {
      const { after, signal: stop } = treeOptions(given);
      yield* httpTreeEvents(link, conversationIdOf(conversation), { after, signal: stop ? anySignal([stop, closing]) : closing });
    },
    reply: async (conversation, given) => replyOf(await endOf(conversation, given)),
    answer: async (conversation, schema, given) => {
      const asked = zodOf(schema);
      return answerOf(await endOf(conversation, given), asked);
    },
    status: async (conversation) => (await httpConversation(link, conversation)).status,
    attachment: async (conversation, attachmentId) => httpAttachment(link, at(conversation), nameOf('attachmentId', attachmentId)),
    checkpoints: async (conversation) => ((await link.json(at(conversation, '/checkpoints'))) as { checkpoints: Checkpoint[] }).checkpoints,
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
      const { attachments, ...options } = sendOptions(given);
      checkMessageText(text, attachments);
      const body = { ...options, message: text, ...(await attachmentsOf(attachments)) };
      const { turnId, duplicate, messageId } = (await link.json(at(conversation, '/messages'), { method: 'POST', body })) as SentMessage;
      return { turnId, duplicate, messageId };
    },
    async approve(conversation, given) {
      const { callId, ...body } = approveOptions(given);
      const { conversationId } = await httpConversation(link, conversation);
      const path = `/v1/approvals/${encodeURIComponent(callId)}?${new URLSearchParams({ conversationId }).toString()}`;
      return (await link.json(path, { method: 'POST', body })) as { callId: string; answer: typeof body.answer };
    },
    async revokeAllowed(conversation, tool, given) {
      const wanted = toolOf(tool);
      const query = new URLSearchParams(withoutUndefined(revokeOptions(given)));
      const path = at(conversation, `/allowed-tools/${encodeURIComponent(wanted)}?${query.toString()}`);
      return (await link.json(path, { method: 'DELETE' })) as RevokeAllowedToolResult;
    },
    async rewind(conversation, checkpointId, given) {
      const body = { checkpointId: nameOf('checkpointId', checkpointId), ...rewindOptions(given) };
      return (await link.json(at(conversation, '/rewind'), { method: 'POST', body })) as RewindResult;
    },
    pause: async (conversation, given) => signal(conversation, 'pause', pauseOptions(given)),
    resume: async (conversation, given) => signal(conversation, 'resume', resumeOptions(given)),
    async waitingCalls(conversation) {
      return (await link.json(at(conversation, '/tools'))) as { calls: ClientCall[]; seq: number };
    },
    async claimCall(conversation, given) {
      const { callId, ...body } = claimOptions(given);
      return (await link.json(toolAt(conversation, callId, 'claim'), { method: 'POST', body, isRepeatable: true })) as ClaimedCall;
    },
    async giveResult(conversation, given) {
      const { callId, ...body } = resultOptions(given);
      resultText(callId, body.result, body.isError ?? false);
      await link.json(toolAt(conversation, callId, 'result'), { method: 'POST', body, isRepeatable: true });
    },
    interrupt: async (conversation) => signal(conversation, 'interrupt'),
    stopAfterStep: async (conversation) => signal(conversation, 'stop-after-step'),
    cancel: async (conversation) => signal(conversation, 'cancel'),
    compact: async (conversation, given) => signal(conversation, 'compact', compactOptions(given)),
    close: async (conversation) => signal(conversation, 'close'),
  };
}
