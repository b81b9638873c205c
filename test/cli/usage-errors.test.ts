import { exitCodeOf } from '../../src/cli/output/exit-code-of.ts';
import { failure } from '../../src/contracts/errors.ts';
import { runLine } from './support.ts';

test.each([
  [['bogus']],
  [['ls', '--bogus']],
  [['ls', '--limit', 'Infinity']],
  [['run', 'agent']],
  [['approve', 'conv_1']],
  [['sandbox', 'ls', '--state', 'asleep']],
  [['plugins', 'bogus']],
])('a line that cannot be used says where its usage is: %j', async (args) => {
  const { code, out, err } = await runLine(undefined, args);
  expect([code, out, err.endsWith('\nAdd --help for the usage.\n')]).toEqual([2, '', true]);
});

test.each(['ATTACHMENT_INVALID', 'OUTPUT_INVALID'] as const)('a file that a line names and that cannot be used is wrong usage: %s', (code) => {
  expect(exitCodeOf(failure(code, { what: 'a', problem: 'b', fix: 'c' }))).toBe(2);
});

test('the image of sandboxes is not built where no engine answers', async () => {
  const environment = { ...process.env, DOCKER_HOST: 'unix:///nowhere/docker.sock' };
  expect(await runLine(undefined, ['setup', '--image'], { environment })).toMatchObject({
    code: 5,
    out: '',
    err: expect.stringContaining('The Docker engine cannot be reached') as string,
  });
});
