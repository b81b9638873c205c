import { describeCode } from '../../../src/plugins/builtin/code-result.ts';

const result = { execId: 'e', status: 'finished' as const, stdout: '', stderr: '', truncated: false, values: [], durationMs: 1 };

test('code that was ended for want of memory says so', () => {
  expect(describeCode({ ...result, status: 'gone', limit: 'memory' }).content).toEqual([
    {
      type: 'text',
      text: JSON.stringify({
        status: 'gone',
        durationMs: 1,
        problem: 'The sandbox ran out of memory, and the kernel ended a process. Use less at once, or split the work.',
        note: 'The process ended, and with it all variables of the context.',
      }),
    },
  ]);
});

test('what was left out is said, with the limits and what to do', () => {
  expect(describeCode(result).content).toEqual([{ type: 'text', text: '{"status":"finished","durationMs":1}' }]);
  const { content } = describeCode({ ...result, truncated: true });
  const limits = '(32768 characters at each end of a stream, 100 values, 20 MB of values together)';
  const rest = 'were left out and are kept nowhere. Write them to a file and read it in parts.';
  expect(JSON.stringify(content)).toContain(`Output or values beyond the limits ${limits} ${rest}`);
  const counted = describeCode({ ...result, truncated: true, leftOut: { values: 3, bytes: 70 } }).content;
  expect(JSON.stringify(counted)).toContain(`3 more values and 70 more bytes of output and values: output or values beyond the limits ${limits} ${rest}`);
  const kept = describeCode({ ...result, truncated: true, stdoutPath: '/out', stderrPath: '/err' }).content;
  expect(JSON.stringify(kept)).toContain('What is left out of the output is in /out and /err: read it in parts.');
});

test('a value in no form that can be shown is named', () => {
  const { content } = describeCode({ ...result, values: [{ 'application/x-arrow': 'QUJD' }, {}] });
  expect(content.slice(1)).toEqual([
    { type: 'text', text: '[a value that cannot be shown; it has only these forms: application/x-arrow]' },
    { type: 'text', text: '[a value that cannot be shown; it has only these forms: none]' },
  ]);
});
