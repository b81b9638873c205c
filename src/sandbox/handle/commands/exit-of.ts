import { failure } from '../../../contracts/errors.ts';
import type { ExitRecord } from '../../protocol/supervisor-connection.ts';

/** How an exec ended that was started and whose end is known. */
export type Exit = ExitRecord & { status: Exclude<ExitRecord['status'], 'failed' | 'lost'> };

/**
 * The exit of an exec that was followed to its end.
 * @param what names it in the error when the container died first
 * @throws SANDBOX_LOST, or EXEC_FAILED when it could not be started
 */
export function exitOf({ exit }: { exit: ExitRecord }, sandboxId: string, what: string): Exit {
  const { status } = exit;
  if (status === 'lost') throw failure('SANDBOX_LOST', { sandboxId, problem: `it ended while ${what}` });
  if (status === 'failed') throw failure('EXEC_FAILED', { problem: exit.problem ?? 'the supervisor gave no reason' });
  return { ...exit, status };
}
