import type { TakenMedia } from '../../../src/models/media/prompt-media.ts';
import { promptTokens } from '../../../src/models/context/prompt-size.ts';
import type { StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { compaction } from './transcripts.ts';

const at = '2027-01-31T09:00:00.000Z';
const storedAs = (entries: TranscriptEntry[]): StoredEntry[] => entries.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at, entry }));
const asked = (text: string): TranscriptEntry => ({ role: 'user', content: [{ type: 'text', text }] });
const called = (inputTokens: number): TranscriptEntry => ({
  role: 'assistant',
  parts: [{ type: 'tool-call', callId: 'call_1', tool: 'shell:run', arguments: { command: 'ls' } }],
  usage: { inputTokens, outputTokens: 10 },
});
const result = (text: string): TranscriptEntry => ({ role: 'tool', callId: 'call_1', tool: 'shell:run', content: [{ type: 'text', text }], isError: false });
const parts = (entries: TranscriptEntry[]) => ({ transcript: storedAs(entries), compactions: [], instructions: '', tools: [], recall: 'recall' });

test('what the provider counted is believed, and what was added since is estimated', () => {
  const prompt = parts([asked('x'.repeat(3_000)), called(5_000), result('y'.repeat(3_000))]);
  const tokens = promptTokens(prompt);
  expect(tokens).toBeGreaterThan(6_010);
  expect(tokens).toBeLessThan(6_100);
});

test('after a compaction the estimate is corrected by how far off it was', () => {
  const prompt = parts([asked('x'.repeat(3_000)), called(2_100), result('y'.repeat(30_000))]);
  const whole = promptTokens(prompt);
  const compactions = [compaction(1, 3, { outputsTo: 2 })];
  const after = promptTokens({ ...prompt, compactions });
  // The estimate of the first prompt is about 1050 tokens, and the provider counted twice as many.
  expect(whole).toBeGreaterThan(12_000);
  expect(after).toBeGreaterThan(2_100);
  expect(after).toBeLessThan(2_500);
  expect(promptTokens({ ...prompt, compactions: [compaction(1, 3, { outputsTo: 2 }, 3)] })).toBeGreaterThan(20_000);
});

test('an image counts as an image, however large its file is', () => {
  const image: TranscriptEntry = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'A'.repeat(4_000_000) }] };
  expect(promptTokens(parts([image]))).toBeLessThan(2_000);
});

test('a file that is no text counts as the line that a prompt has of it, whatever its size', () => {
  const filesOf = (mediaType: string): TranscriptEntry => ({
    role: 'user',
    content: Array.from({ length: 10 }, (_, index) => ({ type: 'file', mediaType, name: `${index}.bin`, blob: `sha256:${'0'.repeat(64)}`, bytes: 1_000_000 })),
  });
  const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  for (const mediaType of [docx, 'application/zip', 'application/octet-stream', 'audio/mpeg'])
    expect(promptTokens(parts([filesOf(mediaType)]))).toBeLessThan(3_000);
  for (const mediaType of ['text/plain', 'application/vnd.ms-excel', 'application/json', 'application/vnd.api+json', 'text/csv'])
    expect(promptTokens(parts([filesOf(mediaType)]))).toBeGreaterThan(150_000);
});

test('what the model does not take counts as a line', () => {
  const blob = `sha256:${'0'.repeat(64)}`;
  const both: TranscriptEntry = {
    role: 'user',
    content: [
      { type: 'image', mediaType: 'image/png', blob, bytes: 1_000_000 },
      { type: 'file', mediaType: 'application/pdf', blob, bytes: 3_000_000 },
    ],
  };
  const tokensFor = (takes?: TakenMedia) => promptTokens({ ...parts([called(10), both]), takes });
  expect(tokensFor()).toBeGreaterThan(101_600);
  expect(tokensFor({ images: true, documents: ['application/pdf'] })).toBe(tokensFor());
  expect(tokensFor({ images: true, documents: [] })).toBeLessThan(2_200);
  expect(tokensFor({ images: false, documents: [] })).toBeLessThan(600);
});
