import { fileURLToPath } from 'node:url';
import { createCompiler } from '../../../../src/plugins/schemas/validate-arguments.ts';
import { runCommand } from '../../../../src/platform/run-command.ts';

const PROGRAMS = fileURLToPath(new URL('../../../../src/plugins/dialects/maibot/original/programs', import.meta.url));
const SHARED = fileURLToPath(new URL('../../../../src/plugins/dialects/shared/python/programs', import.meta.url));
/** What Python says: the translated patterns, and for each of them whether it matches each text. */
const ASK = `import json, re, sys
from longshore_maibot.patterns import schema_pattern_of
patterns, texts = json.loads(sys.argv[1])
print(json.dumps([[schema_pattern_of(p), [re.search(p, t) is not None for t in texts]] for p in patterns]))`;

const PATTERNS = [
  String.raw`^/tide`,
  String.raw`^/tide(?:\s+(?P<harbour>\S+))?$`,
  String.raw`^[/!！](?:天气|weather)\s*(?P<city>.*)$`,
  String.raw`(?i)^/WEATHER (north|süd)\b`,
  String.raw`(?m)^b$`,
  String.raw`(?s)a.b`,
  String.raw`^\d{2,3}?[a-f-]+\Z`,
  String.raw`^[^\W\d_]+$`,
  String.raw`^(\w)\w*\1$`,
  String.raw`(?<!/)tide(?!s)`,
  String.raw`^[\]\[^.\\-]+$`,
  String.raw`\Bde\B|^$`,
];
const TEXTS = [
  '',
  '/tide',
  '/tide north',
  '/tides',
  'tide',
  '！天气 北京',
  '!weather',
  '/weather NORTH',
  '/Weather Süden',
  'a\nb',
  'a\nb\n',
  '12-a',
  '٣٤abc',
  'été',
  'abca',
  'x_1',
  '[]^.\\-',
  'tides\u2028',
];

test('a translated pattern matches what Python matches', async () => {
  const { stdout, stderr, code } = await runCommand('python3', ['-c', ASK, JSON.stringify([PATTERNS, TEXTS])], {
    env: { PYTHONPATH: `${PROGRAMS}:${SHARED}`, PYTHONDONTWRITEBYTECODE: '1' },
  });
  expect([code, stderr]).toEqual([0, '']);
  const compile = createCompiler();
  for (const [index, [pattern, expected]] of (JSON.parse(stdout) as [string, boolean[]][]).entries()) {
    const check = compile('plugin', 'tool', 'parameters', { type: 'string', pattern });
    const found = await Promise.all(TEXTS.map(async (text) => (await check(text)).length === 0));
    expect([PATTERNS[index], found]).toEqual([PATTERNS[index], expected]);
  }
});
