import { z } from 'zod';
import type { RouteParts } from '../http/route-parts.ts';
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

/** The newest messages, oldest first; `next` is the `before` of those before them, if there are any. */
export async function uiPageOf(
  { store, readFrames }: Pick<RouteParts, 'store' | 'readFrames'>,
  conversationId: string,
  { limit = MESSAGES, before }: { limit?: number | undefined; before?: number | undefined },
): Promise<{ messages: UiMessage[]; next?: number }> {
  const starts = await store.events.messageStarts(conversationId, { limit: limit + 1, ...(before !== undefined && { before }) });
  const first = starts.slice(0, limit).at(-1);
  if (first === undefined) return { messages: [] };
  const messages = await uiMessagesOf(conversationId, readLog(readFrames, conversationId, first - 1), before);
  return { messages, ...(starts.length > limit && { next: first }) };
}
