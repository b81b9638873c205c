import type { ErrorRow } from './error-row.ts';

/** Errors of sandboxes that move from host to host, or are brought back on another one. */
export const HOST_ERRORS = {
  NO_HOST: {
    message:
      'No host takes sandbox "{sandboxId}": host "{host}" is being drained, and no other one is there that has what the sandbox needs. Start a worker on another machine, or: longshore hosts resume {host}',
    httpStatus: 503,
    retryable: true,
  },
  NO_FITTING_HOST: {
    message:
      'No host has all that sandbox "{sandboxId}" needs: {needed}. The hosts have: {known}. Start a worker on a machine that has it (labels: LONGSHORE_HOST_LABELS; gVisor: longshore setup --gvisor), or correct the sandbox of its agent or template',
    httpStatus: 409,
    retryable: false,
  },
  HOSTS_AWAY: {
    message:
      'No host takes sandbox "{sandboxId}" now: of those that have what it needs ({needed}), {hosts}. Start their workers, take them back (longshore hosts resume), or add another one. If a host is gone for good: longshore hosts remove',
    httpStatus: 503,
    retryable: true,
  },
  HOST_FULL: {
    message:
      'No host has {neededMb} MB of memory for sandbox "{sandboxId}" now: "{host}" has promised {promisedMb} of {allowedMb} MB (LONGSHORE_HOST_MEMORY), and {ahead} others have waited longer. A call of a conversation goes on when there is room; try anything else again',
    httpStatus: 503,
    retryable: true,
  },
  HOST_WAIT_OVER: {
    message:
      'Sandbox "{sandboxId}" has waited {waited} s for {neededMb} MB of memory (LONGSHORE_HOST_WAIT): host "{host}" has promised {promisedMb} of {allowedMb} MB. Close conversations or let them rest sooner, add a host, or raise LONGSHORE_HOST_MEMORY',
    httpStatus: 503,
    retryable: false,
  },
  HOST_DISK_FULL: {
    message:
      'No host has disk for sandbox "{sandboxId}" now: "{host}" has {freeMb} MB free, and takes new sandboxes again with {leastMb} MB (LONGSHORE_MIN_FREE_DISK). A call of a conversation goes on when there is disk; try anything else again',
    httpStatus: 503,
    retryable: true,
  },
  HOST_DISK_WAIT_OVER: {
    message:
      'Sandbox "{sandboxId}" has waited {waited} s for disk (LONGSHORE_HOST_WAIT): host "{host}" has {freeMb} MB free, and takes new sandboxes again with {leastMb} MB. Remove unused images, snapshots and sandboxes there (docker system df), add a host, or lower LONGSHORE_MIN_FREE_DISK',
    httpStatus: 503,
    retryable: false,
  },
  SANDBOX_TOO_LARGE: {
    message:
      'Sandbox "{sandboxId}" needs {neededMb} MB of memory, and host "{host}" promises {allowedMb} MB at most to all sandboxes together. Lower the memory limit of its agent or template, raise LONGSHORE_HOST_MEMORY there, or add a larger host',
    httpStatus: 409,
    retryable: false,
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
