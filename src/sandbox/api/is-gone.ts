import { isFailure } from '../../contracts/errors.ts';

const GONE = ['SANDBOX_LOST', 'SANDBOX_DESTROYED', 'SANDBOX_NOT_FOUND'] as const;

/** Whether an error says that nothing of a sandbox is left to be ended. */
export function isGone(error: unknown): boolean {
  return GONE.some((code) => isFailure(error, code));
}
