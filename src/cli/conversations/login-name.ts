import { userInfo } from 'node:os';

/** Who runs this command, as the machine knows them; undefined where it does not, as for a bare number in a container. */
export function loginName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
