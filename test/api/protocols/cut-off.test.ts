import { uiMessageChunkSchema, type UIMessageChunk } from 'ai';
import { beginCompletion, mapEvent as toCompletion, type CompletionPart } from '../../../src/api/protocols/openai/map-event.ts';
import { mapEvent } from '../../../src/api/protocols/ui-stream/map-event.ts';
import { beginMessage } from '../../../src/api/protocols/ui-stream/ui-state.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';

const event = (type: string, data: object, stepId?: string) =>
  ({ seq: 1, at: '2027-01-31T00:00:00.000Z', conversationId: 'conv_1', turnId: 'turn_1', stepId, type, data }) as unknown as ConversationEvent;
const step = (stepId: string, text: string, cutOff?: string) => [
  event('step.started', { step: 0, attempt: 1 }, stepId),
  event('text.delta', { text }, stepId),
  event('step.finished', { usage: { inputTokens: 1, outputTokens: 1 }, ...(cutOff && { cutOff }) }, stepId),
];
const turn = (...steps: ConversationEvent[][]) => [event('turn.started', {}), ...steps.flat(), event('turn.finished', { outcome: 'finished' })];

function finishes(log: ConversationEvent[]) {
  let page = beginMessage('conv_1', 'turn_1');
  let completion = beginCompletion('conv_1', 'turn_1');
  const chunks: UIMessageChunk[] = [];
  const parts: CompletionPart[] = [];
  for (const each of log) {
    const [nextPage, moreChunks] = mapEvent(page, each);
    const [nextCompletion, moreParts] = toCompletion(completion, each);
    [page, completion] = [nextPage, nextCompletion];
    chunks.push(...moreChunks);
    parts.push(...moreParts);
  }
  return { page: chunks.at(-1), completion: parts.at(-1) };
}

test.each([
  ['length', 'length'],
  ['content-filter', 'content_filter'],
])('an answer that was cut off ends as such in both protocols: %s', async (cutOff, reason) => {
  const { page, completion } = finishes(turn(step('step_1', 'I look.'), step('step_2', 'High water is at', cutOff)));
  expect(page).toEqual({ type: 'finish', finishReason: cutOff, messageMetadata: { seq: 1, cutOff } });
  expect(await uiMessageChunkSchema().validate?.(page)).toMatchObject({ success: true });
  expect(completion).toMatchObject({ kind: 'finish', reason });
});

test('an answer whose last step is whole is whole', () => {
  const { page, completion } = finishes(turn(step('step_1', 'I lo', 'length'), step('step_2', 'Done.')));
  expect(page).toEqual({ type: 'finish', finishReason: 'stop', messageMetadata: { seq: 1 } });
  expect(completion).toMatchObject({ kind: 'finish', reason: 'stop' });
});
