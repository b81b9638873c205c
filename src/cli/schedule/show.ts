import type { Longshore, ScheduleRun, ScheduleWithRuns } from '../../client.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';
import { durationText } from './duration-text.ts';
import { timingText } from './list.ts';

export async function showSchedule(cli: Cli, longshore: Longshore, id: string, json: boolean): Promise<void> {
  const schedule = await longshore.schedules.get(id);
  if (json) return printJson(cli, schedule);
  for (const line of [...factLines(schedule), ...schedule.runs.map(runLine)]) printFact(cli, line);
}

function factLines(schedule: ScheduleWithRuns): string[] {
  const { id, timing, paused, note, nextAt, agent, user, tenant, message, keepOpen, runsLeft, catchUpMs, missedRuns, runs } = schedule;
  const next = nextAt[0] === undefined ? 'no further run' : `next at ${nextAt[0]}`;
  return [
    `${id}: ${timingText(timing)}, ${paused ? `paused${note === undefined ? '' : ` (${note})`}` : next}`,
    `agent ${agent}, user ${user}, tenant ${tenant}; conversations ${keepOpen ? 'wait for more' : 'close when they have answered'}`,
    `says: ${message}`,
    `runs may begin up to ${durationText(catchUpMs)} late; ${missedRuns} skipped as too late${runsLeft === undefined ? '' : `; ${runsLeft} left`}`,
    runs.length === 0 ? 'no run yet' : 'last runs:',
  ];
}

function runLine(run: ScheduleRun): string {
  const { at, outcome } = run;
  if (outcome === 'started') return `  ${at}  ${run.conversationId} ${run.state}${run.lastTurn ? `, ${endOf(run.lastTurn)}` : ''}`;
  return `  ${at}  ${outcome === 'failed' ? `failed: ${run.problem}` : 'waits for a worker'}`;
}

function endOf({ outcome, message }: NonNullable<Extract<ScheduleRun, { outcome: 'started' }>['lastTurn']>): string {
  return outcome === 'finished' ? 'answered' : `its turn ${outcome === 'failed' ? 'failed' : `was ${outcome}`}${message === undefined ? '' : `: ${message}`}`;
}
