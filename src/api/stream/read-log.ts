import type { ConversationEvent } from '../../contracts/events.ts';
import type { FrameReader } from './event-frames.ts';

/** The events that a conversation has now, from the one after `cursor`. */
export async function* readLog(readFrames: FrameReader, conversationId: string, cursor = 0): AsyncGenerator<ConversationEvent> {
  for (;;) {
    const frames = await readFrames(conversationId, cursor);
    if (frames.length === 0) return;
    for (const { event } of frames) yield event;
    cursor = frames.at(-1)?.event.seq ?? cursor;
  }
}
