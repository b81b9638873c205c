import type { ErrorRow } from './error-row.ts';

/** Errors of the database: it cannot be used now, or this program cannot work with it. */
export const DATABASE_ERRORS = {
  POSTGRES_UNAVAILABLE: {
    message: 'Postgres cannot be used: {problem}. Check DATABASE_URL, or start the stack: longshore dev',
    httpStatus: 503,
    retryable: true,
  },
  POSTGRES_FULL: {
    message: 'Postgres has no room for this: {problem}. {fix}; what waits for it goes on by itself then',
    httpStatus: 503,
    retryable: true,
  },
  DATABASE_ELSEWHERE: {
    message:
      'The database belongs to the Temporal namespace {owner}; {address} has {here}, where its conversations have no workflows. Set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE to where they are, or DATABASE_URL to another database. If they no longer exist: longshore setup --move-database',
    httpStatus: 503,
    retryable: false,
  },
  DATABASE_NEWER: {
    message:
      'The database was changed by a newer version of Longshore, with which this version cannot work (it lacks {migrations}). Run the version that is used elsewhere in this installation',
    httpStatus: 503,
    retryable: false,
  },
  DATABASE_OLDER: {
    message: 'The schema of the database lacks {migrations}, and LONGSHORE_MIGRATE=no lets no program change it. Run: longshore setup',
    httpStatus: 503,
    retryable: false,
  },
} as const satisfies Record<string, ErrorRow>;
