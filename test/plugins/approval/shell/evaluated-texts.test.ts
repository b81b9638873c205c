import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judge, noRm, rule } from './rules.ts';

const allowed = ['echo *', 'ls*', 'y=*', 'y+=*', 'printf *', 'test *', 'export *', 'read *', 'RANDOM=*', '> *'].map((command) => rule(command, 'allow'));

/** Whether bash removes the file `x` with this command, in a directory that has these programs and texts as well. */
function isRemovedBy(command: string, files: Record<string, string> = {}): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'longshore-evaluated-'));
  try {
    for (const [name, text] of Object.entries({ x: '', ...files })) writeFileSync(join(directory, name), text, { mode: 0o755 });
    try {
      execFileSync('/bin/bash', ['-c', command], { cwd: directory, stdio: 'ignore' });
    } catch {
      // Bash finds no number there, after it has run the command.
    }
    return !existsSync(join(directory, 'x'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test.each([
  "echo ${x['$(rm x)']}",
  "echo ${x[$'a[`rm x`]']}",
  "echo ${@:'a[$(rm x)]'}",
  `echo "\${z:-$'$(rm x)'}"`,
  "echo $(( 'a[$(rm x)]' ))",
  "echo ${z:='a[$(rm x)]'} $((z))",
  'echo ${z:=$} ${y:="a[$z(rm x)]"} $((y))',
  "[[ 'a[$(rm x)]' -eq 1 ]]; echo done",
  "for z in 'a[$(rm x)]'; do echo $((z)); done",
  "for z in 'a[$(rm x)]'; do echo ${!z}; done",
  "y='a[$(rm x)]'; echo $((y))",
  "y='a[$'; y+='(rm x)]'; echo $((y))",
  "export 'y=a[$(rm x)]'; echo ${z[y]}",
  "printf -v 'a[$(rm x)]' z",
  "test -v 'a[$(rm x)]'",
  "read 'a[$(rm x)]' <<< 1",
  "RANDOM='a[$(rm x)]'; echo done",
  "for RANDOM in 'a[$(rm x)]'; do echo done; done",
  "echo done >&'$(rm x)'",
])('a command in a text that the shell evaluates is denied, or asked about, and bash runs it: %s', (command) => {
  expect(judge(allowed, command).decision).toBe('ask');
  expect(judge(noRm, command).decision).toBe('deny');
  expect(isRemovedBy(command)).toBe(true);
});

const SAID = String.raw`printf 'a\x5b\x24\x28rm x\x29\x5d'`;

test.each([
  String.raw`printf -v y 'a\x5b\x24\x28rm x\x29\x5d'; echo $((y))`,
  `echo \${z[$(${SAID})]}`,
  `[[ $(${SAID}) -eq 1 ]]; echo done`,
  `y=$(${SAID}); echo $((y))`,
  String.raw`test -v "$(printf 'y\x5b\x24\x28rm x\x29\x5d')"`,
  'y=\'aX$Y\'; y=${y/X/[}; y="${y/Y/(rm x)]}"; echo $((y))',
  'read y < said; echo $((y))',
  'read -r -d "" y < said; echo $((y))',
  'select y in 1; do echo $((REPLY)); break; done < said',
  'y=$(cat said); z=([y]=1)',
  'printf -v PATH .; ls',
  'read -r -p "> " y PATH <<< "1 ."; ls',
])('a command that other commands or files put together is asked about where the shell evaluates it, and bash runs it: %s', (command) => {
  expect(judge([...allowed, rule('cat *', 'allow'), rule('z=*', 'allow')], command).decision).toBe('ask');
  // With another PATH, the shell runs what the directory has.
  expect(isRemovedBy(command, { said: 'a[$(rm x)]\n', ls: '#!/bin/sh\n/bin/rm x\n' })).toBe(true);
});

test('what a loop or an expansion sets is an assignment, where the shell or other programs may go by it', () => {
  for (const command of ['for PATH in .; do ls; done', 'echo ${IFS:=x}', 'select PATH in .; do ls; done']) {
    expect(judge(allowed, command).decision).toBe('ask');
    expect(judge([...noRm, rule('PATH=*', 'deny'), rule('IFS=*', 'deny')], command).decision).toBe('deny');
  }
  expect(judge([...allowed, rule('PATH=*', 'allow')], 'for PATH in .; do ls; done').decision).toBe('allow');
});

test.each([
  'for z in 1 2 3; do echo $((z * 2)); done',
  'for z in *.txt; do echo "$z"; done',
  'echo $((1 + 2)) ${HOME:-none} ${x[0]}',
  "echo 'use `x` or $(y)'",
  '[[ -f x ]] && echo yes',
  'echo ${#HOME} ${HOME##*/} "[info]" $((x + 1))',
  'y=1; echo $((y + 1)); printf \'%s\\n\' "$y"',
  'echo ${z:=5} $((z))',
  'ls 2>&1 >&2',
  'while read -r z; do echo "$z"; done < f',
  'export y=$(ls); echo $y',
  '[[ -n $(ls) ]] && echo yes',
  'printf -v z %03d 5; echo "$z"',
])('what evaluates nothing that could run a command is allowed as before: %s', (command) => {
  expect(judge(allowed, command).decision).toBe('allow');
  expect(judge(noRm, command).decision).toBe('allow');
});
