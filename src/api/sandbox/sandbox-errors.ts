import type { ErrorCode } from '../../contracts/errors.ts';

/** What any request to a sandbox may be refused with. */
const ANY = [
  'CONVERSATION_NOT_FOUND',
  'SANDBOX_ABSENT',
  'SANDBOX_NOT_FOUND',
  'SANDBOX_HELD',
  'SANDBOX_CONFLICT',
  'SANDBOX_DESTROYED',
  'SANDBOX_LOST',
  'SANDBOX_UNREACHABLE',
  'HOST_AWAY',
] as const satisfies ErrorCode[];

export const FILE_ERRORS: readonly ErrorCode[] = [...ANY, 'FILE_NOT_FOUND', 'FILE_FAILED', 'FILE_CHANGED'];
export const PORT_ERRORS: readonly ErrorCode[] = [...ANY, 'PORT_CLOSED', 'PORT_FAILED', 'STREAM_LIMIT'];
export const COMMAND_ERRORS: readonly ErrorCode[] = [...ANY, 'EXEC_NOT_FOUND', 'EXEC_MISMATCH', 'EXEC_FAILED', 'USER_NOT_FOUND', 'STDIN_CLOSED'];
