import type { CreateScheduleOptions, Longshore } from '../../client.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';

export interface CreateOptions extends Omit<CreateScheduleOptions, 'id' | 'agent'> {
  cron?: string;
  timeZone?: string;
  every?: string;
  at?: string;
  json?: boolean;
}

export async function createSchedule(
  cli: Cli,
  longshore: Longshore,
  { json = false, ...options }: CreateOptions & { id: string; agent: string },
): Promise<void> {
  // The client checks that exactly one of cron, every and at is given.
  const made = await longshore.schedules.create(options as CreateScheduleOptions);
  if (json) return printJson(cli, made);
  printFact(cli, `${made.id} is scheduled, next at ${made.nextAt[0] ?? 'no time'}. Try it now with: longshore schedule run ${made.id}`);
}
