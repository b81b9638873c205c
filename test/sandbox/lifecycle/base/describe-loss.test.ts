import { describeDeath, describeLoss } from '../../../../src/sandbox/lifecycle/base/describe-loss.ts';

const ended = { id: 'a', status: 'ended', exitCode: 137, outOfMemory: false, labels: {}, runtime: 'runc', execs: 0 } as const;

describe('what was lost', () => {
  test('a container that ran out of memory, one that ended and one that is gone are told apart', () => {
    expect(describeDeath({ ...ended, outOfMemory: true })).toContain('out of memory');
    expect(describeDeath(ended)).toBe(
      'its container was killed from outside (exit code 137): by a program, or by the kernel when its machine had no memory left',
    );
    expect(describeDeath({ ...ended, exitCode: 1 })).toBe('its container ended by itself (exit code 1)');
    expect(describeDeath(undefined)).toContain('gone');
  });

  test('a rest that was wished for and cut nothing off is no loss', () => {
    const loss = { cause: 'it was stopped', filesLost: false, execs: [], expected: true };
    expect(describeLoss(loss)).toBeUndefined();
    expect(describeLoss({ ...loss, expected: false })).toContain('No command was cut off without a result');
    expect(describeLoss({ ...loss, filesLost: true })).toContain('files are gone');
  });

  test('files that replace lost ones are named, with their time', () => {
    const loss = { cause: 'it died', filesLost: true, execs: [], expected: false };
    const at = '2026-11-27T10:00:00.000Z';
    expect(describeLoss({ ...loss, filesOf: { what: 'backup', at } })).toBe(
      'The sandbox was started anew: it died. Its files are gone as well; it starts with those of its backup of 2026-11-27T10:00:00.000Z. Which commands were cut off is not known.',
    );
    expect(describeLoss({ ...loss, filesOf: { what: 'snapshot', at } })).toContain('it starts with those of its snapshot of 2026-11-27T10:00:00.000Z');
    expect(describeLoss(loss)).toContain('it starts empty');
  });

  test('long and many commands are shortened', () => {
    const execs = Array.from({ length: 12 }, (_, index) => ({ execId: `call_${index}`, command: `echo\n${'x'.repeat(1000)}` }));
    const text = describeLoss({ cause: 'it died', filesLost: false, execs, expected: false }) ?? '';
    expect(text.length).toBeLessThan(2000);
    expect(text).toContain('and 2 more');
    expect(text).toContain('`echo xxx');
  });

  test('MCP servers are no loss: they are started again when they are called, which is told then', () => {
    const execs = [{ execId: 'mcp-calendar', command: 'mcp calendar node server.js' }];
    expect(describeLoss({ cause: 'it was stopped', filesLost: false, execs, expected: true })).toBeUndefined();
    expect(describeLoss({ cause: 'it died', filesLost: false, execs, expected: false })).toContain('No command was cut off without a result');
  });

  test('code contexts are no commands: what is gone are their variables', () => {
    const execs = ['code-python-one', 'code-javascript-two:web', 'code-name'].map((execId) => ({ execId, command: 'python one' }));
    expect(describeLoss({ cause: 'it was stopped', filesLost: false, execs, expected: true })).toMatch(
      /not run again: `python one` \(code-name\)\. Code contexts whose variables are gone: "one" \(python\), "two" \(javascript, of web\)\.$/,
    );
  });
});
