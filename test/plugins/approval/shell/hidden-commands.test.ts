import { judge, noRm, rule } from './rules.ts';

test.each([
  'env - rm x',
  'env -i - A=1 rm x',
  'env a.b=1 rm x',
  "env 'a b=c' d=1 rm x",
  "env --split='rm x'",
  "env -S 'rm\\_x'",
  "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
  'sudo a-b=c rm x',
  "su root --command='rm x'",
  "su root -c'rm x'",
  "echo 'rm x' | xargs -I{} sh -c {}",
  'echo rm | xargs -I % % x',
  'echo rm | xargs -rI% % x',
  'echo rm | xargs --replace=% % x',
  'echo rm | xargs -i {} x',
  "echo 'm x' | xargs -IZ sh -c rZ",
  'echo rm x | parallel',
  'echo rm x | parallel sh -c {}',
  "eval -- 'rm x'",
  'eval -- rm x',
  "$'r\\x{6d}' x",
  "x='$'; x+='(rm y)'; : ${x@P}",
  "PS4='$''(rm x)'; set -x; ls",
  `compgen -W '$'"(rm x)"`,
  'export BASH_ENV; bash -c ls',
  "git config alias.z '!rm x'; git z",
  'git --config-env=alias.z=V z',
  "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='!rm x' git z",
  "GIT_EXTERNAL_DIFF='rm x' git diff",
  'choom -n 0 rm x',
  "ssh -oProxyCommand='rm x' y",
  "split --filter='rm x' y",
  'echo rm x | parallel -j 2',
  'parallel :::: commands',
])('a rule about rm holds for a command behind options, settings and marks: %s', (command) => {
  expect(judge(noRm, command).decision).toBe('deny');
  for (const allowed of ['echo *', 'ls*', 'bash *', 'sudo *', 'env *']) expect(judge([rule(allowed, 'allow')], command).decision).toBe('ask');
});

test.each([
  'ls | xargs -I{} cp {} /tmp',
  "ls | xargs sh -c 'echo ${1}' _",
  'parallel gzip {} ::: a b',
  'env A=1 B.c=2 npm test',
  "git config alias.s '!ls'",
  'export EDITOR; eval -- ls',
  "x='a'\"b\"'c'; echo ${x@Q}",
  'ssh host ls',
  "parallel ::: 'ls x'",
])('a rule about rm leaves alone: %s', (command) => {
  expect(judge(noRm, command).decision).toBe('allow');
});
