import { userInfo } from 'node:os';

/** The name of the user who runs this command; undefined when the machine has none, as for a bare number in a container. */
export function loginName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
