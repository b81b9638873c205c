import { z } from 'zod';
import type { RouteParts } from '../http/route-parts.ts';
import { inheritedMessages } from '../protocols/ui-stream/inherited-messages.ts';
import { uiMessagesOf, type UiMessage } from '../protocols/ui-stream/ui-messages.ts';
import { readLog } from '../stream/read-log.ts';
import { seq } from './schemas.ts';

/** Messages of a page, unless fewer are asked for. */
const MESSAGES = 200;

/** What routes with pages of messages take. */
export const uiPageQuery = {
  limit: seq
    .pipe(z.int().min(1).max(MESSAGES))
    .optional()
    .meta({ description: `Default ${MESSAGES}` }),
  before: seq.optional().meta({ description: 'Only messages before this place: the `next` of the page with the newer ones' }),
};

interface Page {
  messages: UiMessage[];
  next?: number;
}
interface PageRequest {
  limit: number;
  before?: number | undefined;
}

/**
 * The newest messages, oldest first; `next` is the `before` of those before them, if there are any. In a fork, places up to the last entry that it has from its
 * source are numbers of entries, and those after it are numbers of its own events.
 */
export async function uiPageOf(
  parts: Pick<RouteParts, 'store' | 'readFrames'>,
  conversationId: string,
  { limit = MESSAGES, before }: { limit?: number | undefined; before?: number | undefined },
): Promise<Page> {
  const { transcriptSeq: shared = 0 } = (await parts.store.forks.get(conversationId)) ?? {};
  const own = before !== undefined && before <= shared ? { messages: [] } : await ownPage(parts, conversationId, { limit, before: before && before - shared });
  if (own.next !== undefined) return { ...own, next: own.next + shared };
  if (shared === 0 || own.messages.length >= limit) return { ...own, ...(shared > 0 && { next: shared + 1 }) };
  const earlier = await inheritedPage(parts, conversationId, { limit: limit - own.messages.length, before: Math.min(before ?? shared + 1, shared + 1) });
  return { ...earlier, messages: [...earlier.messages, ...own.messages] };
}

async function ownPage({ store, readFrames }: Pick<RouteParts, 'store' | 'readFrames'>, conversationId: string, { limit, before }: PageRequest): Promise<Page> {
  const starts = await store.events.messageStarts(conversationId, { limit: limit + 1, ...(before !== undefined && { before }) });
  const first = starts.slice(0, limit).at(-1);
  if (first === undefined) return { messages: [] };
  const messages = await uiMessagesOf(conversationId, readLog(readFrames, conversationId, first - 1), before);
  return { messages, ...(starts.length > limit && { next: first }) };
}

async function inheritedPage(
  { store }: Pick<RouteParts, 'store'>,
  conversationId: string,
  { limit, before }: { limit: number; before: number },
): Promise<Page> {
  const entries = (await store.transcript.read(conversationId)).filter(({ seq }) => seq < before);
  const all = inheritedMessages(entries);
  const shown = all.slice(-limit);
  const [first] = shown;
  return { messages: shown.map(({ message }) => message), ...(first && all.length > shown.length && { next: first.seq }) };
}
