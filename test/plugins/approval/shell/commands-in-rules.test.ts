import { echoTool } from '../../tools.ts';
import type { ApprovalRule } from '../../../../src/contracts/agent.ts';
import { decide, type Decision } from '../../../../src/plugins/approval/decide.ts';
import { judge, noRm, rule } from './rules.ts';

const code = { ...echoTool('run'), id: 'code:run', pluginId: 'code' };

test.each([
  ' rm x',
  '\trm x',
  '/bin/rm x',
  '../../bin/rm x',
  'command rm x',
  'command -p rm x',
  'builtin command rm x',
  'exec rm x',
  'exec -a ls rm x',
  "bash -c 'rm x'",
  'bash -lc "rm x"',
  "sh -e -o pipefail -c 'cd /; rm x'",
  '/usr/bin/env -S "rm x"',
  'env rm x',
  'env -i A=1 B=2 rm x',
  'env -u HOME -- rm x',
  'sudo rm x',
  'sudo -u root -n rm x',
  'sudo --user root rm x',
  'sudo --unheard-of yes rm x',
  'nohup nice -n 5 timeout -s KILL 5 rm x',
  'timeout --kill-after 3 5s /bin/rm x',
  'time rm x',
  '! rm x',
  'ls && rm x',
  'ls || rm x',
  'ls; rm x',
  'ls | rm x',
  'ls |& rm x',
  'ls & rm x',
  'ls\nrm x',
  '(rm x)',
  '( (rm x) )',
  '((rm x))',
  '((ls); rm x)',
  '{ rm x; }',
  'if true; then rm x; fi',
  'if rm x; then :; fi',
  'while rm x; do :; done',
  'for f in a b; do rm $f; done',
  'case a in a) rm x;; esac',
  'select a in b; do rm x; done',
  'f() { rm x; }; f',
  'function f { rm "$@"; }; f x',
  'coproc rm x',
  'echo $(rm x)',
  'echo "$(rm x)"',
  'echo `rm x`',
  'echo "`rm x`"',
  'echo "a $(b $(rm x))"',
  'A=$(rm x)',
  'A=1 rm x',
  'a=(1 $(rm x))',
  'a[$(rm x)]=1',
  'echo ${a:-$(rm x)}',
  'echo $(( $(rm x) ))',
  '(( a[$(rm x)] ))',
  '[[ -n $(rm x) ]]',
  "x='a[$(rm x)]'; (( x ))",
  "PS4='$(rm x)'; set -x; ls",
  'cat <(rm x)',
  'tee >(rm x)',
  'cat <<< $(rm x)',
  'cat <<EOF\n$(rm x)\nEOF',
  'bash <<EOF\nrm x\nEOF',
  "bash -s <<'EOF'\nrm x\nEOF",
  'bash <<< "rm x"',
  'echo rm x | bash',
  'echo rm x | sudo sh -s',
  'bash <(echo rm x)',
  '. <(echo rm x)',
  'source /dev/stdin <<< "rm x"',
  'bash /dev/fd/3 3<<< "rm x"',
  "eval 'rm x'",
  'eval r"m" x',
  'eval "$X"',
  "trap 'rm x' EXIT",
  "alias ll='rm'",
  'hash -p /bin/rm ls; ls x',
  'ls | xargs rm',
  'ls | xargs -0 -I{} rm {}',
  'ls | xargs sh -c \'rm "$@"\' _',
  'find . -exec rm {} \\;',
  'find . -type f -execdir rm {} +',
  'find . -ok rm {} \\;',
  'find . $EXEC rm {} \\;',
  'ls | parallel rm',
  "watch 'rm x'",
  "su root -c 'rm x'",
  "flock /tmp/l -c 'rm x'",
  'flock /tmp/l rm x',
  "script -qc 'rm x' /dev/null",
  'busybox rm x',
  'strace -f rm x',
  '/lib64/ld-linux-x86-64.so.2 /bin/rm x',
  'chroot / rm x',
  'mapfile -C "rm x" -c 1 a < b',
  'r\\m x',
  '\\rm x',
  '"rm" x',
  "'r'm x",
  'r""m x',
  "$'rm' x",
  "$'\\x72m' x",
  '$"rm" x',
  'r\\\nm x',
  '> /dev/null rm x',
  '2>&1 rm x',
  '$X x',
  '${X} x',
  'r$Y x',
  '$(echo rm) x',
  '`echo rm` x',
  '/bin/r? x',
  '/bin/[r]m x',
  '{rm,x}',
  'r{m,} x',
  '"$@"',
  'bash -c "$X"',
  'bash $X',
  'timeout $T rm x',
  'sudo $O x',
  'rm "x',
  'if rm x',
  `echo ${'$('.repeat(40)}rm x${')'.repeat(40)}`,
  `: ${'x'.repeat(40_000)}; rm x`,
  `${'nohup '.repeat(3_000)}rm x`,
  `${'npx '.repeat(200)}rm x`,
  `bash -c "bash -c 'bash -c \\"bash -c \\\\\\"rm x\\\\\\"\\"'"`,
  'rm\u{E000} x',
  "env -S'rm x'",
  "bash -c -x 'rm x'",
  "bash +x -O extglob -c 'rm x'",
  'bash -c \'"$0" "$@"\' rm x',
  'BASH_ENV=/tmp/f bash -c ls',
  "printf -v 'a[$(rm x)]' y",
  "x='$(rm x)'; : ${x@P}",
  '/bin/@(rm) x',
  'coproc NAME { rm x; }',
  'exec {fd}< <(rm x)',
  'case x in x) ls ;& y) rm x;; esac',
  'cat <<A <<B\na\nA\nb\nB\nrm x',
  "cat <<'E'\nx\nE\nrm x",
  'set -- rm x; "$@"',
  'while read -r a b; do "$a" $b; done',
  "compgen -C 'rm x'",
  `bind -x '"a": rm x'`,
  "EDITOR='rm x' git commit",
  "export GIT_PAGER='rm x'; git log",
  "env GIT_SSH_COMMAND='rm x' git fetch",
  "git -c alias.z='!rm x' z",
  "git rebase -x 'rm x' HEAD~1",
  'git bisect run rm x',
  "git submodule foreach 'rm x'",
  "tar --checkpoint-action=exec='rm x' -cf a b",
  "rsync -e 'rm x' a b:",
  "make SHELL='rm x'",
  'npm exec -- rm x',
  "npm exec -c 'rm x'",
  'uv run rm x',
  "tmux new 'rm x'",
  "at now <<< 'rm x'",
  'echo rm x | batch',
  "parallel ::: 'rm x'",
  'fd -x rm',
  'ld.so /bin/rm x',
])('a rule about rm holds for: %s', (command) => {
  expect(judge(noRm, command).decision).toBe('deny');
  expect(judge([rule('rm *', 'ask'), { tool: 'shell:run', decide: 'allow' }], command).decision).toBe('ask');
  for (const allowed of ['echo *', 'ls*', 'bash *', 'sudo *', 'env *', '*']) {
    if (allowed !== '*') expect(judge([rule(allowed, 'allow')], command).decision).toBe('ask');
  }
});

test.each([
  'ls -la',
  'git rm x',
  'echo rm x',
  'git commit -m "rm x"',
  'npm run rm',
  'ls | grep rm',
  'cat "$FILE" | head -n 5',
  'for f in *.txt; do cat "$f"; done',
  'cd /tmp && make -j4 2>&1 | tee log',
  'find . -name "*.rm" -print',
  "python3 - <<'EOF'\nprint('rm x')\nEOF",
  "cat > a.js <<'EOF'\nconst a = `${b}`; // rm x\nEOF",
  "awk '{ print $1 }' a",
  'command -v rm',
  'X=$(date +%s); echo $((X + 1)) > out',
  "bash -c 'ls x'",
  'timeout 5 npm test',
  'EDITOR=vim git commit -m "rm x"',
  'export PATH=$PATH:x',
  'tar xf "$FILE"',
  'make -j4 CC=gcc',
  'git checkout -b rm',
  'crontab -l',
])('a rule about rm leaves alone: %s', (command) => {
  expect(judge(noRm, command)).toEqual({ decision: 'allow', why: 'rule 2 of the agent: shell:run is allowed' });
});

const tests: ApprovalRule[] = [rule('npm test*', 'allow'), rule('cd *', 'allow'), rule('git log*', 'allow'), rule('> log*', 'allow')];

test.each<[string, Decision['decision']]>([
  ['npm test', 'allow'],
  [' "npm" test -- --ci ', 'allow'],
  ['cd app && npm test', 'allow'],
  ['cd app && npm test && rm -rf /', 'ask'],
  ['npm test; curl x | sh', 'ask'],
  ['npm test $(rm x)', 'ask'],
  ['npm test "$X"', 'allow'],
  ['timeout 60 npm test', 'allow'],
  ['time npm test 2>&1', 'allow'],
  ['npm test > log', 'allow'],
  ['npm test > ~/.bashrc', 'ask'],
  ['npm test 2> /dev/null', 'allow'],
  ['PATH=/tmp npm test', 'ask'],
  ['PATH=/tmp; npm test', 'ask'],
  ['./npm test', 'ask'],
  ['npm test "', 'ask'],
  ['git log <(rm x)', 'ask'],
  ['npm() { rm x; }; npm test', 'ask'],
  ['/tmp/timeout 5 npm test', 'ask'],
  ['# nothing', 'ask'],
  ['', 'ask'],
])('an allow rule holds only where all parts fit: %s is %s', (command, decision) => {
  expect(judge(tests, command).decision).toBe(decision);
});

test('rules that allow a command together are all named', () => {
  expect(judge(tests, 'cd app && npm test').why).toBe('rules 1, 2 of the agent: shell:run with command npm test*, shell:run with command cd * is allowed');
});

test('a text without * is a command as it is written, whatever it consists of', () => {
  expect(judge([rule('make lint && ./deploy.sh "$TARGET"', 'allow')], 'make lint && ./deploy.sh "$TARGET"').decision).toBe('allow');
});

test('what is only known when the command runs could fit a rule', () => {
  const rules = [rule('git push*', 'deny'), rule('* --force*', 'deny'), rule('> /etc/*', 'deny'), { tool: 'shell:run', decide: 'allow' } as ApprovalRule];
  expect(judge(rules, 'git $X').decision).toBe('deny');
  expect(judge(rules, 'git log $X').decision).toBe('deny');
  expect(judge(rules, 'git log').decision).toBe('allow');
  expect(judge(rules, 'echo a > /e""tc/passwd').decision).toBe('deny');
  expect(judge([rule('rm *', 'deny')], '$X a').why).toBe(
    'rule 1 of the agent: shell:run with command rm * is denied (a part of the command matches, or could match when it runs)',
  );
  expect(judge([rule('rm *', 'ask')], 'ls "').why).toBe('rule 1 of the agent: shell:run with command rm * is asked (it cannot be read as a shell command)');
});

test('bash programs of code:run are commands as well, those of other languages are texts', () => {
  const approval: ApprovalRule[] = [
    { tool: 'code:run', when: { code: 'rm *' }, decide: 'deny' },
    { tool: 'code:run', decide: 'allow' },
  ];
  expect(decide({ approval, requireApproval: {} }, code, { language: 'bash', code: 'ls; rm x' }).decision).toBe('deny');
  expect(decide({ approval, requireApproval: {} }, code, { language: 'python', code: 'ls; rm x' }).decision).toBe('allow');
});
