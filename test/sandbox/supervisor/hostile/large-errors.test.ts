import { LocalSupervisor } from '../local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(() => supervisor[Symbol.asyncDispose]());

const REPEATS = 20_000_000;

describe.each(['python', 'javascript'] as const)('code in %s that fails with an error of any size', (language) => {
  const fails = language === 'python' ? `raise ValueError('a€' * ${REPEATS} + 'last words')` : `throw new Error('a€'.repeat(${REPEATS}) + 'last words')`;

  test.each([undefined, 'kept'])('has failed, and its error is cut in the middle (context: %s)', async (contextId) => {
    const options = { language, timeoutMs: 60_000, ...(contextId !== undefined && { contextId }) };
    if (contextId !== undefined) await supervisor.handle.runCode('kept = 1', options);
    const { status, error, truncated } = await supervisor.handle.runCode(fails, options);
    expect({ status, truncated, type: error?.type }).toEqual({ status: 'failed', truncated: true, type: language === 'python' ? 'ValueError' : 'Error' });
    expect(error?.message).toMatch(/^a€a€[^…]*… \d+ characters left out …\n[a€]*last words$/);
    expect(error?.message.length).toBeLessThan(REPEATS);
    expect(error?.traceback).toContain('last words');
    if (contextId !== undefined)
      expect(await supervisor.handle.runCode('kept', options)).toMatchObject({ status: 'finished', values: [{ 'text/plain': '1' }] });
  });
});
