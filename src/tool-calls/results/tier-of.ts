import type { SandboxTier } from '../../contracts/conversation.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';

/** The tier of a sandbox that calls use; one that is being made is about to run. */
export function tierOf({ state }: Pick<SandboxRow, 'state'>): SandboxTier {
  return state === 'creating' || state === 'warm' ? 'running' : state;
}
