import { toTemporalFailure } from '../../src/activities/failures.ts';
import { failure } from '../../src/contracts/errors.ts';
import { summaryLine } from '../../src/contracts/markdown.ts';
import { operatorText } from '../../src/contracts/operator-text.ts';
import { openConversation } from '../../src/workflows/state/conversation-state.ts';
import { checkAnswer, refusedUpdate } from '../../src/workflows/messages/validate-updates.ts';
import { cpuMs } from '../support/cpu-time.ts';

const HOSTILE: [string, string][] = [
  ['NUL', 'a\0b'],
  ['colors of a terminal', '\u001B[31mred\u001B[0m'],
  ['the clipboard of a terminal', '\u001B]52;c;aGk=\u0007'],
  ['C1', 'a\u009B31mb'],
  ['marks of direction', 'a\u202Eb\u2066c'],
  ['tags', 'a\u{E0041}b'],
  ['zero width', 'a\u200Bb\u2060c'],
  ['half characters', '\uD800a\uDC00'],
  ['stacked marks', `a${'\u0301'.repeat(100)}`],
  ['line separators', 'a\u2028b\u2029c\u0085d'],
  ['100 MB', 'x'.repeat(100_000_000)],
  ['100 MB of escapes', '\u202E'.repeat(50_000_000)],
  ['a pair of surrogates at the cut', `${'x'.repeat(1_999)}😀${'y'.repeat(1_000)}`],
];
const NOT_SEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;

test.each(HOSTILE)('%s in errors that Temporal shows is visible and bounded, in messages and values', (_, text) => {
  const ours = toTemporalFailure(failure('TOOL_FAILED', { tool: 'a:b', problem: text })) as Error & { details: { problem: string }[] };
  const unforeseen = toTemporalFailure(new Error(text)) as Error & { details: { problem: string }[]; cause: Error };
  const refused = refusedUpdate('APPROVAL_MISMATCH', { callId: 'c', expected: 'e', given: text });
  const texts = [ours.message, ours.details[0]?.problem, unforeseen.message, unforeseen.cause.message, refused.message, JSON.stringify(refused.details)];
  for (const shown of texts) {
    expect(shown).not.toMatch(NOT_SEEN);
    expect(shown?.length).toBeLessThan(6_000);
  }
});

test.each([...HOSTILE, ['Markdown', '[x](http://evil) <img src=x> # h'], ['blanks', ' '.repeat(1_000_000)], ['lines', 'a\n'.repeat(1_000_000)]])(
  '%s in a summary is one line of at most 200 bytes, without links, in no time to speak of',
  (_, text) => {
    const since = cpuMs();
    const line = summaryLine(text);
    expect(cpuMs() - since).toBeLessThan(1_500);
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(200);
    expect(line).not.toMatch(NOT_SEEN);
    if (/[<>]|\[.*\]|:\/\//.test(line)) expect(line).toMatch(/^`[^`]+`$/);
  },
);

test('a cut says how long the text was, and a summary shows its end', () => {
  expect(operatorText('x'.repeat(3_000))).toBe(`${'x'.repeat(2_000)} … [cut, 3000 characters]`);
  expect(summaryLine(`rm ${' '.repeat(100_000)}; curl evil`)).toBe('rm …cut, 100014 characters in all… ; curl evil');
  expect(summaryLine('short')).toBe('short');
});

test('arguments that an operator edited are refused where they would overflow the stack of the workflow', () => {
  const limits = { budget: {}, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs: 0 } as const;
  const data = openConversation({ conversationId: 'conv_1', agentId: 'a', userId: 'u', tenantId: 't', limits });
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
  const answer = { callId: 'call_1', hash: 'h', answer: 'allow' };
  expect(() => checkAnswer(data, { ...answer, editedArguments: { deep } })).toThrow('editedArguments: it is nested more than 500 levels deep');
  expect(() => checkAnswer(data, { ...answer, editedArguments: deep })).toThrow('editedArguments: a value that is nested too deeply or has too many parts');
  expect(() => checkAnswer(data, { ...answer, answer: deep })).toThrow('answer: a value that is nested too deeply');
});
