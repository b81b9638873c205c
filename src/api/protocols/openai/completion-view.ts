import type { EventView } from '../../stream/event-view.ts';
import { chunkOf, firstChunk, usageChunk, type CompletionHead } from './chunks.ts';
import { beginCompletion, mapEvent, mapRest, type CompletionPart } from './map-event.ts';

export interface CompletionOptions {
  conversationId: string;
  turnId: string;
  /** Calls whose results the client has given with its request. */
  answered?: readonly string[] | undefined;
  head: CompletionHead;
  /** The last chunk says what the turn has used. */
  includeUsage: boolean;
}

const DONE = 'data: [DONE]\n\n';

/** The answer of one turn as a stream of chunks. */
export function createCompletionView({ head, includeUsage, ...of }: CompletionOptions): EventView {
  let hasStarted = false;
  const collected = createPartsView(of, (parts, isWhole) => {
    const chunks = hasStarted ? [] : [firstChunk(head)];
    hasStarted = true;
    for (const part of parts) {
      chunks.push(chunkOf(head, part));
      if (part.kind === 'finish' && includeUsage) chunks.push(usageChunk(head, part.usage));
    }
    return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + (isWhole ? DONE : '');
  });
  return collected;
}

/** Shows the parts of one answer, as `write` puts them. */
export function createPartsView(
  { conversationId, turnId, answered }: Pick<CompletionOptions, 'conversationId' | 'turnId' | 'answered'>,
  write: (parts: CompletionPart[], isWhole: boolean) => string,
): EventView {
  let state = beginCompletion(conversationId, turnId, answered);
  return {
    head: '',
    mayBeCut: false,
    show(frames) {
      const parts: CompletionPart[] = [];
      for (const { event } of frames) {
        const [next, more] = mapEvent(state, event);
        state = next;
        parts.push(...more);
      }
      const rest = frames.length === 0 ? mapRest(state) : undefined;
      const isWhole = rest !== undefined || state.turn.phase === 'ended';
      return { text: write([...parts, ...(rest ?? [])], isWhole), isWhole };
    },
  };
}
