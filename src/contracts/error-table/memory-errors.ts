import type { ErrorRow } from './error-row.ts';

/** Errors of the files that are kept between conversations. */
export const MEMORY_ERRORS = {
  MEMORY_FILE_NOT_FOUND: {
    message: 'This memory has no {what}. List its files with: longshore memory ls, and the versions of one with: longshore memory history <path>',
    httpStatus: 404,
    retryable: false,
  },
  MEMORY_CONFLICT: {
    message:
      'The file "{path}" has version {version}, and version {given} was given (0: there is no file). It was changed meanwhile: read it again, and give the version that was read',
    httpStatus: 409,
    retryable: false,
  },
  MEMORY_FULL: {
    message: 'This memory has no room for "{path}": it may have {limit} {unit}. Remove a file, or make one shorter',
    httpStatus: 409,
    retryable: false,
  },
} as const satisfies Record<string, ErrorRow>;
