import { Client, Connection, ScheduleNotFoundError, ServiceError } from '@temporalio/client';
import type { CreateScheduleOptions } from '../../src/client.ts';
import { createScheduleCalls } from '../../src/client/schedule-calls.ts';
import type { StartParts } from '../../src/client/start-conversation.ts';
import { SCHEDULED_WORKFLOW } from '../../src/contracts/schedule.ts';
import type { Store } from '../../src/store/store.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { until } from '../e2e/support.ts';
import { useSchedules } from './own-schedules.ts';

const { name, open, longshore, what } = useSchedules(['reporter']);
const daily = (id: string) => ({ ...what, id: `${id}-${name}`, cron: '@daily' });

test('a schedule is given back as it was made', async () => {
  const { schedules } = longshore();
  const cron = await schedules.create({ ...what, id: `cron-${name}`, cron: ' 0  9 * * 1-5 ', timeZone: 'Europe/Berlin', maxRuns: 3, catchUp: '2h' });
  expect(cron).toEqual({
    id: `cron-${name}`,
    ...what,
    tenant: 'default',
    keepOpen: false,
    timing: { kind: 'cron', cron: '0 9 * * 1-5', timeZone: 'Europe/Berlin' },
    catchUpMs: 7_200_000,
    paused: false,
    runsLeft: 3,
    missedRuns: 0,
    nextAt: expect.any(Array) as string[],
    createdAt: expect.any(String) as string,
  });
  const hours = new Set(
    cron.nextAt.map((at) => new Intl.DateTimeFormat('en', { hour: 'numeric', hour12: false, timeZone: 'Europe/Berlin' }).format(new Date(at))),
  );
  expect(hours).toEqual(new Set(['09']));
  const every = await schedules.create({ ...what, id: `every-${name}`, every: '30m', tenant: 'acme', keepOpen: true });
  expect(every).toMatchObject({ timing: { kind: 'every', everyMs: 1_800_000 }, catchUpMs: 86_400_000, tenant: 'acme', keepOpen: true });
  const at = new Date('2099-01-31T09:00:00Z');
  const once = await schedules.create({ ...what, id: `once-${name}`, at });
  expect(once).toMatchObject({ timing: { kind: 'at', at: at.toISOString() }, nextAt: [at.toISOString()] });
  // Temporal lists a new one a moment later.
  await until(async () => (await schedules.list()).length === 3, 'all are listed');
  expect((await schedules.list()).map(({ id }) => id)).toEqual([cron.id, every.id, once.id]);
  expect(await schedules.get(cron.id)).toEqual({ ...cron, runs: [] });
});

const bad: [string, object, string][] = [
  ['a length that Temporal cannot count', { every: 1e300 }, 'every: 1e+300 is longer than a hundred years. Give at most 36525d'],
  [
    'a lateness that Temporal cannot count',
    { every: '1h', catchUp: Number.MAX_SAFE_INTEGER },
    'catchUp: 9007199254740991 is longer than a hundred years. Give at most 36525d',
  ],
  ['no time', {}, 'timing: no time is given. Give one of cron, every and at'],
  ['two times', { cron: '@daily', every: '1h' }, 'timing: cron and every are both given. Give one of cron, every and at'],
  ['a zone without a cron', { every: '1h', timeZone: 'UTC' }, 'timeZone: it has no effect without cron. Leave it out, or write the time as cron'],
  [
    'a cron with seconds',
    { cron: '0 0 9 * * *' },
    'cron: "0 0 9 * * *" is not understood. Write five fields, such as 0 9 * * 1-5, or @hourly, @daily, @weekly, @monthly, @yearly',
  ],
  ['a cron out of range', { cron: '61 9 * * *' }, 'timing: Minute is not in range [0-59]. Correct the times, or the time zone'],
  ['an unknown zone', { cron: '@daily', timeZone: 'Mars/Olympus' }, 'timing: unknown time zone Mars/Olympus. Correct the times, or the time zone'],
  ['a day that never comes', { cron: '0 9 31 2 *' }, 'cron: "0 9 31 2 *" never comes. Note that day of the month and day of the week both have to match'],
  ['too often', { every: '10s' }, 'every: 10s is less than a minute. Write 1m or more, such as 30m, 24h or 7d'],
  ['no duration', { every: 'often' }, 'Duration: "often" is none. Write 30s, 10m, 24h or 7d'],
  ['a time that is over', { at: '2020-01-01T00:00:00Z' }, 'at: 2020-01-01T00:00:00.000Z is over. Give a time in the future'],
  ['a time without its zone', { at: '2099-01-01T00:00:00' }, 'at: "2099-01-01T00:00:00" is no time. Write it with its zone, such as 2027-01-31T09:00:00Z'],
  ['a day that is none', { at: '2099-02-31T09:00:00Z' }, 'at: "2099-02-31T09:00:00Z" is no time. Write it with its zone, such as 2027-01-31T09:00:00Z'],
  ['no patience', { cron: '@daily', catchUp: '5s' }, 'catchUp: 5s is less than a minute. Write 1m or more, such as 30m, 24h or 7d'],
  ['no runs', { cron: '@daily', maxRuns: 0 }, 'options of schedules.create.maxRuns: it is 0. Give a whole number above 0'],
  [
    'a bad id',
    { cron: '@daily', id: 'a b' },
    'schedule id: "a b" cannot be used. Write 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit',
  ],
  ['no user', { cron: '@daily', user: '' }, 'options of schedules.create.user: "" cannot be used. Write 1 to 200 characters'],
  ['an empty message', { cron: '@daily', message: ' ' }, 'Message refused: it is empty. Say something'],
  [
    'a long message',
    { cron: '@daily', message: 'x'.repeat(16_385) },
    "Message refused: it has 16385 characters, and 16384 are allowed in a schedule. Put the rest into the agent's instructions, or into a file that it can read",
  ],
  [
    'an unknown agent',
    { cron: '@daily', agent: 'nobody' },
    'No agent named "nobody". Known: reporter. Put nobody.yaml into the agents given to connect(), set LONGSHORE_AGENTS to where it is, or name one that exists.',
  ],
];
test.each(bad)('%s is refused before there is a schedule', async (_name, options, message) => {
  const id = `bad-${name}`;
  await expect(longshore().schedules.create({ ...what, id, ...options } as CreateScheduleOptions)).rejects.toMatchObject({ message });
  await expect(longshore().schedules.get(id)).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' });
});

test('lengths are in whole seconds, as Temporal counts them', async () => {
  const { schedules } = longshore();
  const made = await schedules.create({ ...what, id: `seconds-${name}`, every: '1.001m', catchUp: 90_499.6 });
  expect(made).toMatchObject({ timing: { kind: 'every', everyMs: 60_000 }, catchUpMs: 90_000 });
  expect(Date.parse(made.nextAt[0]!) % 60_000).toBe(0);
  await schedules.delete(made.id);
});

test('an id is taken once, and can be taken again when its schedule is removed', async () => {
  const { schedules } = longshore();
  const { id } = await schedules.create(daily('taken'));
  const message = `There is a schedule "${id}" already. Choose another id, or remove that one first: longshore schedule rm ${id}`;
  await expect(schedules.create({ ...daily('taken'), message: 'Other.' })).rejects.toMatchObject({ code: 'SCHEDULE_EXISTS', message });
  await schedules.delete(id);
  expect(await schedules.create({ ...daily('taken'), message: 'Other.' })).toMatchObject({ id, message: 'Other.' });
});

test('what does not exist, or belongs to another installation of the same Temporal, is not found', async () => {
  await using other = await open(`${name}-other`);
  const { id } = await longshore().schedules.create(daily('ours'));
  for (const known of [id, 'nowhere']) {
    const { schedules } = other;
    for (const call of [schedules.get(known), schedules.pause(known), schedules.resume(known), schedules.trigger(known), schedules.delete(known)]) {
      await expect(call).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND', values: { scheduleId: known } });
    }
  }
  expect(await other.schedules.list()).toEqual([]);
  expect(await longshore().schedules.get(id)).toMatchObject({ paused: false });
});

test('a schedule that was changed in Temporal is shown as it is now', async () => {
  await using client = await openTemporal();
  const { id } = await longshore().schedules.create(daily('changed'));
  await client.schedule.getHandle(id).update(({ action, ...same }) => ({
    ...same,
    spec: { intervals: [{ every: '1h', offset: '5m' }] },
    action: { ...action, args: [{ agent: 'reporter', user: 'user-2', message: 'Now.' }] },
  }));
  expect(await longshore().schedules.get(id)).toMatchObject({ timing: { kind: 'other' }, user: 'user-2', tenant: 'default', message: 'Now.' });
});

test('a run waits for a worker as long as runs may be late, and then says that none came', async () => {
  await using client = await openTemporal();
  const { id } = await longshore().schedules.create({ ...daily('alone'), catchUp: '2h' });
  const handle = client.schedule.getHandle(id);
  expect((await handle.describe()).action.workflowExecutionTimeout).toBe(7_200_000);
  await handle.update(({ action, ...same }) => ({ ...same, action: { ...action, workflowExecutionTimeout: '1s' } }));
  await handle.trigger();
  const outcome = async () => (await longshore().schedules.get(id)).runs[0]?.outcome;
  await until(async () => (await outcome()) === 'failed', 'the run is given up');
  expect((await longshore().schedules.get(id)).runs).toMatchObject([{ outcome: 'failed', problem: 'no worker started it in time' }]);
});

async function openTemporal() {
  const connection = await Connection.connect({ address: loadConfig().TEMPORAL_ADDRESS });
  return { schedule: new Client({ connection }).schedule, [Symbol.asyncDispose]: () => connection.close() };
}

test.each([
  ['that is deleted while it is read', 9, 'Workflow execution closed before WorkflowTaskStarted event'],
  ['that is not answered for in time', 4, 'context deadline exceeded'],
])('a list leaves out a schedule %s, when it is gone', async (_, code, details) => {
  let asked = 0;
  const describe = async () => {
    asked += 1;
    if (asked > 1) throw new ScheduleNotFoundError('schedule not found', 'gone');
    throw new ServiceError('Failed to describe schedule', { cause: Object.assign(new Error(details), { code, details, metadata: {} }) });
  };
  const listed = async function* () {
    yield { scheduleId: 'gone', action: { workflowType: SCHEDULED_WORKFLOW } };
  };
  const client = { schedule: { list: listed, getHandle: () => ({ describe }) } } as unknown as Client;
  const temporal = { address: 'nowhere', client: async () => client } as unknown as StartParts['temporal'];
  const calls = createScheduleCalls({ temporal } as StartParts & { store: Store }, { actor: { kind: 'login', id: 'test' } });
  expect(await calls.list()).toEqual([]);
  expect(asked).toBe(2);
});
