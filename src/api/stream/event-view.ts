import type { EventType } from '../../contracts/events.ts';
import type { EventFrame } from './event-frames.ts';

/** How a reader is shown events. A view belongs to one stream. */
export interface EventView {
  /** Sent before all events. */
  head: string;
  /** False when its reader would take the end of a stream for the end of what it reads: such a stream is not ended but broken when the process stops. */
  mayBeCut: boolean;
  /** The text for these frames, and whether nothing is shown after it. Without frames, the reader has all that the log has now. */
  show(frames: readonly EventFrame[]): { text: string; isWhole: boolean };
}

/** Tells the reader how long to wait before it connects again, in milliseconds. */
export const HEAD = 'retry: 1000\n\n';

/** The events themselves: those of some types (undefined: of all), up to the conversation's last one or the first of the type `until`. */
export function viewOfEvents(types: ReadonlySet<EventType> | undefined, until: EventType | undefined): EventView {
  return {
    head: HEAD,
    mayBeCut: true,
    show(frames) {
      const last = frames.findIndex(({ event: { type } }) => type === 'conversation.closed' || type === until);
      const sent = last === -1 ? frames : frames.slice(0, last + 1);
      return { text: sent.flatMap(({ event: { type }, text }) => (!types || types.has(type) ? [text] : [])).join(''), isWhole: last !== -1 };
    },
  };
}
