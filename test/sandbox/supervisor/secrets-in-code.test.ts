import { createHandle } from '../../../src/sandbox/handle/create-handle.ts';
import { withSecrets } from '../../../src/sandbox/handle/secrets/with-secrets.ts';
import { LocalSupervisor } from './local-supervisor.ts';

const SECRET = 'pässwörd-4711-shut';

let supervisor: LocalSupervisor;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
});
afterEach(() => supervisor[Symbol.asyncDispose]());

const LANGUAGES = [
  [
    'python',
    'import os; key = os.environ["KEY"]',
    'print(key)',
    'import sys; [(sys.stdout.write(part), sys.stdout.flush()) for part in (key[:9], key[9:])]',
    '[key]',
    'raise ValueError(key)',
  ],
  [
    'javascript',
    'const key = process.env.KEY;',
    'console.log(key)',
    'process.stdout.write(key.slice(0, 9)); process.stdout.write(key.slice(9))',
    '[key]',
    'throw new Error(key)',
  ],
] as const;

test.each(LANGUAGES)(
  '%s: code prints, returns and throws a secret with characters beyond ASCII, whole and in parts, and it is masked',
  async (language, begin, ...pieces) => {
    const handle = createHandle(withSecrets(supervisor.connection, { KEY: SECRET }), supervisor.sandboxId);
    for (const piece of pieces) {
      let streamed = '';
      const result = await handle.runCode(`${begin}\n${piece}`, { language, onOutput: (_stream, text) => (streamed += text) });
      const shown = JSON.stringify([streamed, result]);
      expect(shown).toContain('****');
      expect(shown).not.toMatch(/p\S{1,2}ssw|4711|shut/);
    }
  },
);

const PART = /.{0,20}(?:p\S{1,2}ss|wör|ord-|4711|-shut|hut==).{0,20}/u;
test.each([
  ['python', 'import os; key = os.environ["KEY"]', 'raise ValueError(f"=={key}" * 60_000)', '"x" * 15_999_988 + key'],
  ['javascript', 'const key = process.env.KEY;', 'throw new Error(`==${key}`.repeat(60_000))', '"x".repeat(15_999_988) + key'],
] as const)('%s: where an error or a value is too long and is cut within a secret, no part of it is shown', async (language, begin, throws, returns) => {
  const handle = createHandle(withSecrets(supervisor.connection, { KEY: SECRET }), supervisor.sandboxId);
  const { error, truncated } = await handle.runCode(`${begin}\n${throws}`, { language });
  expect(truncated).toBe(true);
  for (const text of [error?.message ?? '', error?.traceback ?? '']) {
    expect(text.length).toBeGreaterThan(900_000);
    expect(PART.exec(text)?.[0]).toBeUndefined();
  }
  const [value] = (await handle.runCode(`${begin}\n${returns}`, { language })).values;
  const text = value?.['text/plain'] as string;
  expect(text.length).toBeGreaterThanOrEqual(16_000_000);
  expect(PART.exec(text.slice(-1_000))?.[0]).toBeUndefined();
});
