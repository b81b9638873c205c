import type { UIMessageChunk } from 'ai';
import type { EventView } from '../../stream/event-view.ts';
import { mapEvent, mapRest } from './map-event.ts';
import { startPart, type UiState } from './ui-state.ts';

export interface UiViewOptions {
  /** Before the first event. */
  state: UiState;
  /** The reader has the parts of the events up to this one; 0: it has none. */
  seenSeq: number;
}

const DONE = 'data: [DONE]\n\n';

/** The message of one turn as a UI message stream. */
export function createUiView({ state: first, seenSeq }: UiViewOptions): EventView {
  let state = first;
  let hasStarted = false;
  const start = (): UIMessageChunk[] => {
    const { conversationId, turnId } = state.turn;
    if (hasStarted) return [];
    hasStarted = true;
    return turnId === undefined ? [] : [startPart(conversationId, turnId)];
  };
  return {
    head: '',
    mayBeCut: false,
    show(frames) {
      const parts = start();
      for (const { event } of frames) {
        const [next, more] = mapEvent(state, event);
        const isSeen = event.seq <= seenSeq;
        if (!isSeen) parts.push(...more);
        // A text that began before is not known to a reader that begins here.
        state = isSeen ? withoutText(next) : next;
      }
      const rest = frames.length === 0 && state.turn.seq >= seenSeq ? mapRest(state) : undefined;
      const isWhole = rest !== undefined || state.turn.phase === 'ended';
      return { text: textOf([...parts, ...(rest ?? [])]) + (isWhole ? DONE : ''), isWhole };
    },
  };
}

function withoutText(state: UiState): UiState {
  return { ...state, open: undefined };
}

/** Output of a call that is replaced within the same piece of the stream is left out. */
export function textOf(parts: UIMessageChunk[]): string {
  const newest = new Map<string, UIMessageChunk>();
  for (const part of parts) if (part.type === 'tool-output-available') newest.set(part.toolCallId, part);
  const isReplaced = (part: UIMessageChunk) => part.type === 'tool-output-available' && part.preliminary === true && newest.get(part.toolCallId) !== part;
  return parts.flatMap((part) => (isReplaced(part) ? [] : [`data: ${JSON.stringify(part)}\n\n`])).join('');
}
