import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { array, assert, asyncProperty, constantFrom, tuple } from 'fast-check';
import { judge, noRm, rule } from './rules.ts';

/** Ways to write a word that bash reads as the same one. */
const disguisedWord = (word: string) =>
  constantFrom(
    word,
    `"${word}"`,
    `'${word}'`,
    `\\${word}`,
    `${word[0]}""${word.slice(1)}`,
    `${word[0]}'${word.slice(1)}'`,
    `$'\\x${word.charCodeAt(0).toString(16)}${word.slice(1)}'`,
    `/bin/${word}`,
    `/bin/${word[0]}?`,
    `$(printf %s ${word})`,
    `\`echo ${word}\``,
    `${word[0]}\\\n${word.slice(1)}`,
    `{${word},-f}`,
  );

const wrapped = [
  (inner: string) => inner,
  (inner: string) => `env ${inner}`,
  (inner: string) => `env A=1 ${inner}`,
  (inner: string) => `nohup ${inner}`,
  (inner: string) => `timeout 5 ${inner}`,
  (inner: string) => `nice -n 1 ${inner}`,
  (inner: string) => `setsid -w ${inner}`,
  (inner: string) => `stdbuf -o L ${inner}`,
  (inner: string) => `echo | xargs ${inner}`,
  (inner: string) => `find . -maxdepth 0 -exec ${inner} \\;`,
];

// A space behind `$(`: a subshell right behind it would be read as arithmetic, which runs nothing.
const surrounded = [
  (inner: string) => inner,
  (inner: string) => `true && ${inner}`,
  (inner: string) => `false || ${inner}`,
  (inner: string) => `true; ${inner}`,
  (inner: string) => `true | ${inner}`,
  (inner: string) => `( ${inner} )`,
  (inner: string) => `{ ${inner}\n}`,
  (inner: string) => `if true; then ${inner}\nfi`,
  (inner: string) => `for i in 1; do ${inner}\ndone`,
  (inner: string) => `f() { ${inner}\n}; f`,
  (inner: string) => `echo "$( ${inner})"`,
  (inner: string) => `x=$( ${inner})`,
  (inner: string) => `cat <(${inner}); wait $!`,
  (inner: string) => `cat <<EOF\n$( ${inner})\nEOF`,
  (inner: string) => `bash <<'EOF'\n${inner}\nEOF`,
  (inner: string) => `bash -c '${inner.replaceAll("'", String.raw`'\''`)}'`,
  (inner: string) => `eval '${inner.replaceAll("'", String.raw`'\''`)}'`,
  (inner: string) => `trap '${inner.replaceAll("'", String.raw`'\''`)}' EXIT`,
  (inner: string) => `case a in *) ${inner}\nesac`,
  (inner: string) => `[[ -z $( ${inner}) ]]`,
  (inner: string) => `: $(( 0$( ${inner}) ))`,
  (inner: string) => `! ${inner}`,
];

const disguised = tuple(
  disguisedWord('rm'),
  constantFrom('', 'A=1 ', '2>&1 ', '> /dev/null '),
  array(constantFrom(...wrapped), { maxLength: 2 }),
  array(constantFrom(...surrounded), { maxLength: 3 }),
).map(([word, before, wrappers, around]) =>
  around.reduce((command, wrap) => wrap(command), `${before}${wrappers.reduce((command, wrap) => wrap(command), `${word} victim`)}`),
);

test('a denied command is denied in any disguise, and bash runs most of them', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-rules-'));
  const victim = join(directory, 'victim');
  const run = promisify(execFile);
  let ran = 0;
  try {
    await assert(
      asyncProperty(disguised, async (command) => {
        expect([command, judge(noRm, command).decision]).toEqual([command, 'deny']);
        expect([command, judge([rule('echo *', 'allow'), rule('bash *', 'allow'), rule('cat *', 'allow')], command).decision]).toEqual([command, 'ask']);
        if (Math.random() > 0.25) return;
        await writeFile(victim, '');
        await run('bash', ['-c', command], { cwd: directory, timeout: 10_000 }).catch(() => undefined);
        ran += await stat(victim).then(
          () => 0,
          () => 1,
        );
      }),
      { numRuns: 300 },
    );
    expect(ran).toBeGreaterThan(20);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
