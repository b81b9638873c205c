import { judge, noRm } from './rules.ts';

test('no command takes the event loop long to judge', () => {
  const shapes = [
    '$(',
    '`',
    '"$(',
    '${a:-',
    '((',
    '<(',
    '{a,',
    '[',
    "'",
    '"',
    'a;',
    'a|',
    'f()',
    'coproc ',
    '! ',
    '<<A ',
    'if ',
    'case x in ',
    'sudo ',
    'npx ',
    'xargs ',
    'find -exec ',
    'eval ',
    "bash -c '",
    '$X ',
    '* ',
    'a=b ',
    '\\',
    '>a ',
    'git -c a=b ',
    "EDITOR='ls;ls' ",
    'tar -x a ',
    'npm exec ',
  ];
  for (const shape of shapes) {
    for (const size of [500, 5_000, 32_000]) {
      // Time of this process, since others may take the processors.
      const before = process.cpuUsage();
      judge(noRm, shape.repeat(size / shape.length));
      const { user, system } = process.cpuUsage(before);
      expect([shape, size, user + system < 1_000_000]).toEqual([shape, size, true]);
    }
  }
});
