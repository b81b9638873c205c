import { affordStep } from '../../../src/models/context/afford-step.ts';
import type { StoredEntry } from '../../../src/contracts/transcript.ts';

const at = '2027-01-31T09:00:00.000Z';
const said = (inputTokens: number, outputTokens: number): StoredEntry => ({
  seq: 2,
  turnId: 'turn_1',
  stepId: 'step_1',
  at,
  entry: { role: 'assistant', parts: [{ type: 'text', text: 'x'.repeat(30_000) }], usage: { inputTokens, outputTokens } },
});
const asked = (text: string): StoredEntry => ({ seq: 1, turnId: 'turn_1', at, entry: { role: 'user', content: [{ type: 'text', text }] } });
const request = (...entries: StoredEntry[]) => ({
  transcript: entries.map((stored, index) => ({ ...stored, seq: index + 1 })),
  compactions: [],
  recall: 'recall',
  instructions: 'Be brief.',
  tools: [],
});

test('a first step needs a token for three bytes, and room for an answer', () => {
  const step = request(asked('x'.repeat(3000)));
  expect(affordStep(1000, step)).toEqual({ needs: 1288 });
  expect(affordStep(1288, step)).toEqual({ maxOutputTokens: 256 });
});

test('a later step needs what the provider counted for the one before, with what was added since', () => {
  expect(affordStep(5000, request(asked('Hi'), said(4000, 1000)))).toEqual({ needs: 5257 });
  expect(affordStep(6000, request(asked('Hi'), said(4000, 1000)))).toEqual({ maxOutputTokens: 999 });
  expect(affordStep(9000, request(asked('Hi'), said(4000, 1000), asked('x'.repeat(12_000))))).toEqual({ needs: 9275 });
});

test('an answer is limited to what every model can say, and not at all while much is left', () => {
  expect(affordStep(60_000, request(asked('Hi')))).toEqual({ maxOutputTokens: 8192 });
  expect(affordStep(70_000, request(asked('Hi')))).toEqual({});
});
