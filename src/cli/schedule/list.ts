import type { Longshore, Schedule } from '../../client.ts';
import { printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { durationText } from './duration-text.ts';

export async function listSchedules(cli: Cli, longshore: Longshore, json: boolean): Promise<void> {
  const schedules = await longshore.schedules.list();
  if (json) return printJson(cli, schedules);
  if (schedules.length === 0) return printLine(cli, 'No schedules.');
  const lines = schedules.map((schedule) => [
    schedule.id,
    schedule.agent,
    schedule.user,
    timingText(schedule.timing),
    schedule.paused ? 'paused' : schedule.nextAt.length === 0 ? 'over' : 'active',
    schedule.paused ? '-' : (schedule.nextAt[0]?.slice(0, 19).replace('T', ' ') ?? '-'),
  ]);
  printTable(cli, ['SCHEDULE', 'AGENT', 'USER', 'WHEN', 'STATE', 'NEXT (UTC)'], lines);
}

export function timingText(timing: Schedule['timing']): string {
  if (timing.kind === 'cron') return `${timing.cron} ${timing.timeZone}`;
  if (timing.kind === 'every') return `every ${durationText(timing.everyMs)}`;
  return timing.kind === 'at' ? `once at ${timing.at}` : 'as set in Temporal';
}
