import { MAX_INLINE_IN_ALL, withinInline } from '../../../src/common/calls/inline-arguments.ts';
import { questionTool } from '../../../src/contracts/questions/question.ts';
import { toolCall } from '../../workflows/answers.ts';

const long = { content: 'x'.repeat(16_000) };

test('few calls keep their arguments', () => {
  const calls = [toolCall({ arguments: long }), toolCall(), toolCall({ decision: 'ask', arguments: long })];
  expect(withinInline(calls)).toEqual(calls);
});

test('of many calls, those about which a person is asked keep their arguments first, and questions always', () => {
  const allowed = Array.from({ length: 300 }, () => toolCall({ arguments: long }));
  const asked = toolCall({ decision: 'ask', arguments: long });
  const question = toolCall({ decision: 'ask', tool: questionTool('tickets'), arguments: { message: 'y'.repeat(MAX_INLINE_IN_ALL) } });
  const told = withinInline([...allowed, asked, question]);
  expect(told.map(({ callId }) => callId)).toEqual([...allowed, asked, question].map(({ callId }) => callId));
  expect(told.at(-2)).toEqual(asked);
  expect(told.at(-1)).toEqual(question);
  expect(told[0]).toEqual({ ...allowed[0], arguments: undefined });
  expect(JSON.stringify(withinInline(allowed)).length).toBeLessThan(MAX_INLINE_IN_ALL + 300 * 400);
  expect(withinInline(allowed).filter((call) => call.arguments)).toHaveLength(8);
});
