import { Context } from '@temporalio/activity';
import { isPostgresAway } from '../../../store/database/database-failures.ts';

const TRIES = 8;

interface Patience {
  most?: number;
  isAway?: (error: unknown) => boolean;
}

/**
 * Does what may be done again, until what it needs is there (by default Postgres, and for about half a minute): a later attempt at the call could not make it good.
 * Ends with the cancellation of the activity, also by its time limit.
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  onProblem: (error: unknown) => void,
  { most = TRIES, isAway = isPostgresAway }: Patience = {},
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || tries >= most) throw error;
      onProblem(error);
      await Context.current().sleep(Math.min(250 * 2 ** tries, 5000));
    }
  }
}
