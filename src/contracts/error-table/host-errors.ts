import type { ErrorRow } from './error-row.ts';

/** Errors of sandboxes that move from host to host, or are brought back on another one. */
export const HOST_ERRORS = {
  NO_HOST: {
    message:
      'No host takes sandbox "{sandboxId}": host "{host}" is being drained, and no other one is there that has what the sandbox needs. Start a worker on another machine, or: longshore hosts resume {host}',
    httpStatus: 503,
    retryable: true,
  },
  SANDBOX_SUPERSEDED: {
    message: 'This container of sandbox "{sandboxId}" may not act for it any more: {problem}. Nothing of it counts; the same call goes on in the newer one.',
    httpStatus: 409,
    retryable: true,
  },
  BACKUP_DAMAGED: {
    message:
      'The backup of sandbox "{sandboxId}" of {at} is not what was stored: {problem}. Bring blob "{blobId}" back and try again, or go on without its files: longshore sandbox drop-backup {sandboxId}.',
    httpStatus: 503,
    retryable: false,
  },
} as const satisfies Record<string, ErrorRow>;
