import { ENTRY } from '../../../src/client/import/entry-schema.ts';

test('an answer that was cut off is brought in with its mark', () => {
  const entry = { role: 'assistant', parts: [{ type: 'text', text: 'High at' }], cutOff: 'length' };
  const stored = { seq: 1, turnId: 'turn_1', at: '2027-01-31T00:00:00.000Z', entry };
  expect(ENTRY.parse(stored)).toEqual(stored);
});
