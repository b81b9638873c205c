import { stat } from 'node:fs/promises';

/** Whether there is a file at this path; false also when that cannot be found out. */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
