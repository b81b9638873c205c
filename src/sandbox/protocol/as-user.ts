import type { ExecSpec } from './supervisor-connection.ts';

/** Whom the supervisor runs a command as when it is not told. */
export const OWN_USER = 'user';

/** The usual one goes without saying: supervisors that know of no other may be running still. */
export function asUser(user: string | undefined): Pick<ExecSpec, 'user'> {
  return user === undefined || user === OWN_USER ? {} : { user };
}
