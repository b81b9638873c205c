import type { ContextSummary, StoredEntry } from '../../../src/contracts/transcript.ts';
import { summaryMaterial } from '../../../src/models/context/summary-request.ts';

const entry = (seq: number): StoredEntry => ({
  seq,
  turnId: 'turn_1',
  at: '',
  entry: { role: 'tool', callId: `call_${seq}`, tool: 'shell:run', content: [{ type: 'text', text: '🚢'.repeat(200) }], isError: false },
});
const entries = Array.from({ length: 200 }, (_, index) => entry(index + 1));
const previous: ContextSummary = { to: 0, by: 'model', goal: 'Port the shop.', constraints: [], decisions: 'The basket goes first.', files: '', openWork: '' };

test('when even short texts are too many, the oldest entries are left out, and never the summary of what came before them', () => {
  for (let most = 5_000; most < 5_020; most += 1) {
    const text = summaryMaterial(entries, previous, most);
    expect(text.length).toBeLessThanOrEqual(most);
    const [first = '', ...lines] = text.split('\n');
    expect(JSON.parse(first)).toMatchObject({ summaryOfWhatCameBefore: { goal: 'Port the shop.', decisions: 'The basket goes first.' } });
    const seqs = lines.map((line) => (JSON.parse(line) as { entry: number }).entry);
    expect(seqs.length).toBeGreaterThan(10);
    expect(seqs).toEqual(entries.slice(-seqs.length).map(({ seq }) => seq));
  }
});

test('what fits is there whole', () => {
  const text = summaryMaterial(entries.slice(0, 3), undefined, 5_000);
  expect(text.split('\n').map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(Array(3).fill('🚢'.repeat(200)));
});
