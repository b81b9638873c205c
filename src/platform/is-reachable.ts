import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Whether users other than the owner can reach a path. Checks the real path, because a symbolic link may lead below a private directory. */
export async function isReachable(path: string): Promise<boolean> {
  if (!existsSync(path)) return path === dirname(path) || isReachable(dirname(path));
  for (let at = await realpath(path); ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
