import type { ExecSpec } from './supervisor-connection.ts';

/** The user of a command whose request names none. */
export const DEFAULT_USER = 'user';

/** Omits the default user: older supervisors do not know the field. */
export function asUser(user: string | undefined): Pick<ExecSpec, 'user'> {
  return user === undefined || user === DEFAULT_USER ? {} : { user };
}
