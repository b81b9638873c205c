import type { CallModelArgs } from '../../contracts/activities.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { Store } from '../../store/store.ts';
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
    for (const [index, part] of parts.slice(0, MOST_PARTS).entries()) {
      if (problemOfPart({ ...part }) !== undefined) continue;
      const data = { callId: key, tool, index, part: { ...part } };
      await store.events.append(conversationId, [{ type: 'message.sent', turnId, stepId, data, key: `sent/${key}/${index}` }]);
      const text = `${tool} said to the user: ${resultTextOf([part])}`;
      await store.transcript.append(conversationId, turnId, stepId, `sent-${key}-${index}`, { role: 'note', text });
    }
  }
}
