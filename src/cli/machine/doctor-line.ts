import { isFailure } from '../../contracts/errors.ts';

/** One finding about this machine; `todo` says what to do when something is wrong. */
export interface DoctorLine {
  name: string;
  /** `warning`: Longshore runs, but with fewer abilities. `missing`: it does not run without this. */
  ok: 'ok' | 'warning' | 'missing';
  found: string;
  todo?: string;
}

export function messageOf(error: unknown): string {
  // The advice at the end of the error's message is in `todo`.
  if (isFailure(error) && error.values['problem'] !== undefined) return String(error.values['problem']);
  return error instanceof Error ? error.message : String(error);
}
