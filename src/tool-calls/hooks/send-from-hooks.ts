import type { CallModelArgs } from '../../contracts/activities.ts';
import { MAX_MESSAGE_LENGTH } from '../../contracts/conversation.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { Store } from '../../store/store.ts';
import { boundedPart } from '../results/bounded-parts.ts';
import { problemOfPart, resultTextOf } from '../results/tool-result.ts';

const MOST_PARTS = 100;

export interface SentByHooks {
  /** The same in each attempt at the step. */
  key: string;
  tool: string;
  parts: ContentPart[];
}

/** Sends to the user what plugins have given while they took part in a step, once. */
export async function sendFromHooks(
  store: Pick<Store, 'events' | 'transcript'>,
  { conversationId, turnId, stepId }: Pick<CallModelArgs, 'conversationId' | 'turnId' | 'stepId'>,
  sent: SentByHooks[],
): Promise<void> {
  for (const { key, tool, parts } of sent) {
    for (const [index, whole] of parts.slice(0, MOST_PARTS).entries()) {
      if (problemOfPart({ ...whole }) !== undefined) continue;
      const part = bounded(whole);
      const data = { callId: key, tool, index, part };
      await store.events.append(conversationId, [{ type: 'message.sent', turnId, stepId, data, key: `sent/${key}/${index}` }]);
      const text = `${tool} said to the user: ${resultTextOf([part])}`;
      await store.transcript.append(conversationId, turnId, stepId, `sent-${key}-${index}`, { role: 'note', text });
    }
  }
}

/** It is a part of each later prompt. */
function bounded(part: ContentPart): ContentPart {
  const known = boundedPart(part);
  return known.type === 'text' ? { ...known, text: cutMiddle(known.text, MAX_MESSAGE_LENGTH) } : known;
}
