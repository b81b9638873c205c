import { describeCode } from '../../../src/plugins/builtin/code-result.ts';

const result = { execId: 'e', status: 'finished' as const, stdout: '', stderr: '', truncated: false, values: [], durationMs: 1 };

test('what was left out is said, with the limits and what to do', () => {
  expect(describeCode(result).content).toEqual([{ type: 'text', text: '{"status":"finished","durationMs":1}' }]);
  const { content } = describeCode({ ...result, truncated: true });
  expect(JSON.stringify(content)).toContain('were left out and are kept nowhere. Write them to a file and read it in parts.');
});

test('a value in no form that can be shown is named', () => {
  const { content } = describeCode({ ...result, values: [{ 'application/x-arrow': 'QUJD' }, {}] });
  expect(content.slice(1)).toEqual([
    { type: 'text', text: '[a value that cannot be shown; it has only these forms: application/x-arrow]' },
    { type: 'text', text: '[a value that cannot be shown; it has only these forms: none]' },
  ]);
});
