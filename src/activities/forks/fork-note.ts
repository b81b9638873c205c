import type { FilesPlan } from '../../store/conversation/fork-files.ts';
import type { ForkRow } from '../../store/conversation/forks.ts';

const FORK = 'This conversation goes on from here as a fork of another one, with a sandbox of its own.';

/** What the model has to know about the files and programs of a fork; undefined when they are as the transcript says. */
export function noteOf({ files, resultSeq }: ForkRow, plan: FilesPlan, processes: boolean): string | undefined {
  if (plan.from === 'empty')
    return files === 'none' && resultSeq !== undefined ? `${FORK} It is new: what was done in the earlier sandbox is not in it.` : undefined;
  if (plan.from === 'live' && processes && plan.isExact) return undefined;
  const state =
    plan.from === 'live' && !plan.isExact
      ? 'Its files are those that the other conversation had when the fork was made: they may differ from what was said and done up to here.'
      : 'Its files are as they were at this moment.';
  const programs = processes
    ? 'Programs that ran in the earlier sandbox at that moment run in it, too.'
    : 'Programs that ran in the earlier sandbox do not run in it, and the variables of its code contexts are gone.';
  return `${FORK} ${state} ${programs}`;
}
