import { Context } from '@temporalio/activity';
import { isPostgresAway } from '../../../store/database/database-failures.ts';

const TRIES = 8;

/**
 * Does what may be done again, until Postgres answers, for about half a minute by default: a later attempt at the call could not make it good. Ends with the
 * cancellation of the activity, also by its time limit.
 */
export async function patiently<Result>(work: () => Promise<Result>, onProblem: (error: unknown) => void, most = TRIES): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isPostgresAway(error) || tries >= most) throw error;
      onProblem(error);
      await Context.current().sleep(Math.min(250 * 2 ** tries, 5000));
    }
  }
}
