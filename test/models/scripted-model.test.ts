import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TranscriptEntry } from '../../src/contracts/transcript.ts';
import { ask, hello, makeModel, makeRequest } from './support.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'script-'));
});
afterEach(async () => rm(directory, { recursive: true }));

async function script(text: string) {
  const file = join(directory, 'script.yaml');
  await writeFile(file, text);
  return makeModel(`scripted/${file}`);
}

const asked = (...callIds: string[]): TranscriptEntry => ({
  role: 'assistant',
  parts: callIds.map((callId) => ({ type: 'tool-call', callId, tool: 'shell:run', arguments: {} })),
});
const result = (callId: string, text: string, isError = false): TranscriptEntry => ({
  role: 'tool',
  callId,
  tool: 'shell:run',
  content: [{ type: 'text', text }],
  isError,
});

const REPAIR = `
steps:
  - call: shell:run
    with: { command: pytest -q }
    expect: { exitCode: 1, stdout: "/1 failed/" }
  - say: The test is fixed.
`;

describe('a scripted model', () => {
  test('says what the step at its place in the transcript says', async () => {
    const model = await script(REPAIR);
    const first = await ask(model, makeRequest([hello]));
    expect(first.answer.parts).toEqual([{ type: 'tool-call', callId: '', tool: 'shell:run', arguments: { command: 'pytest -q' } }]);
    const second = await ask(model, makeRequest([hello, asked('c1'), result('c1', '{"exitCode":1,"stdout":"1 failed, 2 passed"}')]));
    expect(second.answer.parts).toEqual([{ type: 'text', text: 'The test is fixed.' }]);
    expect(second.deltas.length).toBeGreaterThan(1);
    expect(second.deltas.map(({ text }) => text).join('')).toBe('The test is fixed.');
  });

  test.each([
    ['another value', '{"exitCode":0,"stdout":"1 failed"}', 'exitCode: expected 1, got 0'],
    ['a text that does not match', '{"exitCode":1,"stdout":"fine"}', 'stdout: expected "/1 failed/", got "fine"'],
    ['a missing field', '{"exitCode":1}', 'stdout: expected "/1 failed/", but there is none'],
    ['no JSON', 'killed', 'the result is no JSON object: "killed"'],
  ])('fails loudly on %s', async (_, text, problem) => {
    const model = await script(REPAIR);
    const error = await ask(model, makeRequest([hello, asked('c1'), result('c1', text)])).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'MODEL_SCRIPT_MISMATCH', retryable: false, message: expect.stringContaining(problem) });
    expect((error as Error).message).toMatch(/script\.yaml, step 1: shell:run/);
  });

  test('fails when a checked call has no result', async () => {
    const model = await script(REPAIR);
    await expect(ask(model, makeRequest([hello, asked('c1')]))).rejects.toThrow('there is no result');
  });

  test('several calls in one step are checked each', async () => {
    const model = await script(`
steps:
  - think: Both at once.
    say: Looking.
    calls:
      - { call: "files:read", with: { path: a }, expect: { isError: false, text: "A" } }
      - { call: "files:read", with: { path: b }, expect: { isError: true, text: "/no such file/i" } }
  - say: Done.
`);
    const { answer } = await ask(model, makeRequest([hello]));
    expect(answer.parts.map(({ type }) => type)).toEqual(['reasoning', 'text', 'tool-call', 'tool-call']);
    const good = makeRequest([hello, asked('c1', 'c2'), result('c2', 'No such file', true), result('c1', 'A')]);
    await expect(ask(model, good)).resolves.toMatchObject({ answer: { parts: [{ text: 'Done.' }] } });
    const bad = makeRequest([hello, asked('c1', 'c2'), result('c2', 'B'), result('c1', 'A')]);
    await expect(ask(model, bad)).rejects.toThrow('isError: expected true, got false');
  });

  test('being asked after its end is an error, unless it repeats', async () => {
    const spoke: TranscriptEntry = { role: 'assistant', parts: [{ type: 'text', text: 'Hi.' }] };
    const once = await script('steps: [{ say: Hi. }]');
    await expect(ask(once, makeRequest([hello, spoke, hello]))).rejects.toThrow('the script has no more steps');
    const forever = await script('{ repeat: true, steps: [{ say: Hi. }] }');
    await expect(ask(forever, makeRequest([hello, spoke, hello]))).resolves.toMatchObject({ answer: { parts: [{ text: 'Hi.' }] } });
  });

  test('usage is as the step says, or an estimate', async () => {
    const model = await script('steps: [{ say: Hi., usage: { inputTokens: 5, outputTokens: 6 } }, { say: Yo. }]');
    await expect(ask(model, makeRequest([hello]))).resolves.toMatchObject({ answer: { usage: { inputTokens: 5, outputTokens: 6 } } });
    const { answer } = await ask(model, makeRequest([hello, { role: 'assistant', parts: [] }]));
    expect(answer.usage.inputTokens).toBeGreaterThan(0);
  });

  test.each([
    ['steps: [', 'not YAML'],
    ['steps: []', 'steps'],
    ['steps:\n  - say: a\n  - call: x\n    widht: {}', 'steps.1 (line 3): Unrecognized key: "widht"'],
    ['steps: [{ with: { a: 1 } }]', 'a step needs say, call or calls'],
    ['steps: [{ say: x, expect: { a: 1 } }]', 'with and expect belong to a call'],
  ])('a script such as %j is refused and says where', async (text, problem) => {
    const model = await script(text);
    await expect(ask(model, makeRequest([hello]))).rejects.toMatchObject({ code: 'MODEL_NOT_SUPPORTED', message: expect.stringContaining(problem) });
  });

  test('a missing script is refused by name', async () => {
    const model = makeModel(`scripted/${join(directory, 'missing.yaml')}`);
    await expect(ask(model, makeRequest([hello]))).rejects.toMatchObject({ code: 'MODEL_NOT_SUPPORTED', message: expect.stringContaining('missing.yaml') });
  });
});
