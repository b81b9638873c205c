import { getSystemErrorMap } from 'node:util';

/** What the system says about a file that it refuses, in its own words and without a path: callers name the one that a person knows. */
export function systemProblem(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  const [, words] = (errno === undefined ? undefined : getSystemErrorMap().get(errno)) ?? [];
  return words ?? message;
}

/** Whether a file is what was refused: it is not there, may not be written, or its disk is full. */
export function isFileProblem(error: unknown): boolean {
  const { code = '', path } = (error ?? {}) as NodeJS.ErrnoException;
  return path !== undefined || ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'].includes(code);
}
