import { Client, Connection } from '@temporalio/client';
import type { CreateScheduleOptions } from '../../src/client.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { until } from '../e2e/support.ts';
import { useSchedules } from './own-schedules.ts';

const { name, open, longshore, what } = useSchedules(['reporter', 'other']);

const FAR = '2099-01-31T09:00:00Z';
const same: [string, object, object][] = [
  ['a cron', { cron: '0 9 * * 1-5', timeZone: 'Europe/Berlin' }, { cron: ' 0  9 * * 1-5', timeZone: 'Europe/Berlin' }],
  ['a name for a cron', { cron: '@daily' }, { cron: '@daily', timeZone: 'UTC', tenant: 'default', keepOpen: false, catchUp: '1d' }],
  ['a length', { every: '30m', maxRuns: 3, keepOpen: true, catchUp: '2h' }, { every: 1_800_000, maxRuns: 3, keepOpen: true, catchUp: '120m' }],
  ['a time', { at: FAR, tenant: 'acme' }, { at: new Date(FAR), tenant: 'acme' }],
];
test.each(same)('%s that is made again as it is, since the answer was lost, is given back', async (kind, first, again) => {
  const { schedules } = longshore();
  const id = `${kind.replaceAll(' ', '-')}-${name}`;
  const made = await schedules.create({ ...what, id, ...first } as CreateScheduleOptions);
  expect(await schedules.create({ ...what, id, ...again } as CreateScheduleOptions)).toEqual(made);
  await schedules.pause(id, { note: 'holidays' });
  expect(await schedules.create({ ...what, id, ...again } as CreateScheduleOptions)).toMatchObject({ id, paused: true, note: 'holidays' });
});

const whole = { ...what, cron: '@daily', maxRuns: 3 };
const others: [string, object][] = [
  ['agent', { agent: 'other' }],
  ['user', { user: 'user-2' }],
  ['tenant', { tenant: 'acme' }],
  ['message', { message: 'Report all.' }],
  ['keepOpen', { keepOpen: true }],
  ['cron', { cron: '@hourly' }],
  ['timeZone', { timeZone: 'Europe/Berlin' }],
  ['timing', { cron: undefined, every: '1d' }],
  ['catchUp', { catchUp: '2h' }],
  ['maxRuns', { maxRuns: 4 }],
  ['no limit', { maxRuns: undefined }],
];
test('what differs in anything is refused, and changes nothing', async () => {
  const id = `whole-${name}`;
  const made = await longshore().schedules.create({ ...whole, id });
  for (const [, other] of others) {
    const refused = longshore().schedules.create({ ...whole, id, ...other });
    await expect(refused).rejects.toMatchObject({ code: 'SCHEDULE_EXISTS', values: { scheduleId: id } });
  }
  expect(await longshore().schedules.get(id)).toMatchObject(made);
});

test('one of another installation, or that was changed in Temporal, is not given back', async () => {
  await using other = await open(`${name}-other`);
  await using client = await openTemporal();
  const id = `ours-${name}`;
  await longshore().schedules.create({ ...whole, id });
  await expect(other.schedules.create({ ...whole, id })).rejects.toMatchObject({ code: 'SCHEDULE_EXISTS' });
  await client.schedule.getHandle(id).update((now) => ({ ...now, spec: { intervals: [{ every: '1h', offset: '5m' }] } }));
  await expect(longshore().schedules.create({ ...whole, id })).rejects.toMatchObject({ code: 'SCHEDULE_EXISTS' });
});

test('one whose only time has come meanwhile, and one that has made its runs, are given back; the same time for a new one is over', async () => {
  const { schedules } = longshore();
  const [id, at] = [`once-${name}`, new Date(Date.now() + 2_000)];
  await schedules.create({ ...what, id, at });
  await until(async () => (await schedules.get(id)).runs.length === 1, 'it has run');
  expect(await schedules.create({ ...what, id, at })).toMatchObject({ id, nextAt: [] });
  await expect(schedules.create({ ...what, id, at, message: 'Other.' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(schedules.create({ ...what, id: `late-${name}`, at })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('of many at once, one makes it, and all are given it', async () => {
  const id = `many-${name}`;
  const made = await Promise.all(Array.from({ length: 6 }, () => longshore().schedules.create({ ...whole, id })));
  expect(new Set(made.map(({ createdAt }) => createdAt)).size).toBe(1);
});

test('a day that never comes stays refused when the schedule was left behind by an attempt that was killed', async () => {
  const { schedules } = longshore();
  await using client = await openTemporal();
  const [id, cron] = [`never-${name}`, '0 9 31 2 *'];
  await schedules.create({ ...what, id, cron: '0 9 31 1 *' });
  await client.schedule.getHandle(id).update((now) => ({ ...now, spec: { cronExpressions: [`${cron} # ${cron}`], timezone: 'UTC' } }));
  await expect(schedules.create({ ...what, id, cron })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(schedules.get(id)).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' });
});

async function openTemporal() {
  const connection = await Connection.connect({ address: loadConfig().TEMPORAL_ADDRESS });
  return { schedule: new Client({ connection }).schedule, [Symbol.asyncDispose]: () => connection.close() };
}
