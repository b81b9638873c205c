import { install, until, type Installation } from '../e2e/support.ts';
import { runLine } from './support.ts';

// The lines that need no worker; what `schedule run` prints is tested where one runs.
let installation: Installation;
beforeAll(async () => {
  installation = await install([{ say: 'Hello.' }]);
});
afterAll(async () => {
  for (const { id } of await installation.longshore.schedules.list()) await installation.longshore.schedules.delete(id);
  await installation[Symbol.asyncDispose]();
});

const line = (...args: string[]) => runLine(installation.longshore, ['schedule', ...args]);

test('a schedule is made, listed, shown, paused, resumed and removed by one line each', async () => {
  const id = `report-${installation.name}`;
  expect(await line('ls')).toEqual({ code: 0, out: 'No schedules.\n', err: '' });
  const made = await line('create', id, 'scripted', '--message', 'Report.', '--cron', '0 9 1 1 *', '--time-zone', 'Asia/Tokyo', '--max-runs', '2');
  const next = /next at (\d{4}-01-01T00:00:00\.000Z)/.exec(made.out)?.[1] ?? '';
  expect(made).toEqual({ code: 0, out: `${id} is scheduled, next at ${next}. Try it now with: longshore schedule run ${id}\n`, err: '' });
  // Temporal lists a new one a moment later.
  await until(async () => (await installation.longshore.schedules.list()).length === 1, 'it is listed');
  const row = `${id}  scripted  cli   0 9 1 1 * Asia/Tokyo`;
  expect((await line('ls')).out).toMatch(
    new RegExp(`^SCHEDULE +AGENT +USER +WHEN +STATE +NEXT \\(UTC\\)\\n${row.replaceAll('*', '\\*')}  active  \\S+ 00:00:00\\n$`),
  );
  expect((await line('show', id)).out).toBe(
    [
      `${id}: 0 9 1 1 * Asia/Tokyo, next at ${next}`,
      'agent scripted, user cli, tenant default; conversations close when they have answered',
      'says: Report.',
      'runs may begin up to 1d late; 0 skipped as too late; 2 left',
      'no run yet',
      '',
    ].join('\n'),
  );
  expect((await line('pause', id, '--note', 'holidays')).out).toBe(`${id} is paused. Go on with: longshore schedule resume ${id}\n`);
  expect((await line('show', id)).out).toContain(`${id}: 0 9 1 1 * Asia/Tokyo, paused (holidays)\n`);
  expect((await line('ls')).out).toContain('  paused  -\n');
  expect((await line('resume', id)).out).toBe(`${id} goes on, next at ${next}.\n`);
  expect(JSON.parse((await line('ls', '--json')).out)).toMatchObject([{ id, runsLeft: 2 }]);
  expect(JSON.parse((await line('show', id, '--json')).out)).toMatchObject({ id, runs: [] });
  expect((await line('rm', id)).out).toBe(`${id} is removed; its conversations stay as they are.\n`);
  expect(await line('show', id)).toEqual({ code: 1, out: '', err: `No schedule "${id}". List them with: longshore schedule ls\n` });
});

test.each([
  ['no time', [], 2, 'timing: no time is given. Give one of cron, every and at\n'],
  ['two times', ['--cron', '@daily', '--every', '1h'], 2, 'timing: cron and every are both given. Give one of cron, every and at\n'],
  ['a bad count', ['--every', '1h', '--max-runs', 'many'], 2, 'Give a whole number.'],
])('%s is said on stderr', async (_name, args, code, said) => {
  expect(await line('create', 'x', 'scripted', '--message', 'Hi', ...args)).toMatchObject({ code, out: '', err: expect.stringContaining(said) as string });
});

test('every command of schedules explains itself', async () => {
  for (const command of ['create', 'ls', 'show', 'pause', 'resume', 'run', 'rm']) {
    expect(await line(command, '--help')).toMatchObject({ code: 0, out: expect.stringContaining(`longshore schedule ${command}`) as string });
  }
});
