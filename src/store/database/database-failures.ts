import { failure, isFailure, type ErrorValues, type LongshoreError } from '../../contracts/errors.ts';

const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);
/**
 * A broken connection, a session or statement that the server or its operator has ended (a limit of time, a shutdown, a crash of another session), starting, an error of
 * its disk, read-only, refused log-in, no such database.
 */
const SERVER_CODES = /^(?:08...|57...|55P03|25P0[34]|58030|25006|28...|3D000)$/;
/** Every `53…` says that it lacks something. What to do about it: */
const LACKS: Record<string, string> = {
  '53100': 'Give its disk room',
  '53200': 'Give it memory, or let it need less (max_connections, work_mem)',
  '53300': 'Raise its max_connections, or run fewer workers and services',
};
const LACKS_SOMETHING = /^53...$/;
const CONNECTION_TEXT =
  /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|query read timeout|pool after calling end/i;
/** Of `longshore_take_room`. */
const NO_ROOM = 'LS001';
const FOREIGN_KEY_VIOLATION = '23503';
const UNIQUE_VIOLATION = '23505';
/** Serialization failure and deadlock: the statement was rolled back because of concurrent ones. */
const CONFLICTS = new Set(['40001', '40P01']);

/**
 * Translates any error of pg into an error of the table: `POSTGRES_UNAVAILABLE` when the database cannot be reached, is too busy or takes no changes, `POSTGRES_FULL` when it
 * lacks disk, memory or connections, else `INTERNAL`.
 */
export function postgresFailure(error: unknown): LongshoreError {
  if (isFailure(error)) return error;
  if (codeOf(error) === NO_ROOM) return failure('HOST_FULL', JSON.parse((error as { detail: string }).detail) as ErrorValues<'HOST_FULL'>, error);
  const problem = describe(error);
  const code = codeOf(error) ?? '';
  if (LACKS_SOMETHING.test(code)) return failure('POSTGRES_FULL', { problem, fix: LACKS[code] ?? 'Raise the limit that it has reached' }, error);
  if (isConflict(error))
    return failure('POSTGRES_UNAVAILABLE', { problem: `it rolled a statement back repeatedly because of concurrent transactions (${problem})` }, error);
  return isConnectionProblem(error, problem) ? failure('POSTGRES_UNAVAILABLE', { problem }, error) : failure('INTERNAL', { problem }, error);
}

/** True for a failure that ends by itself: the database cannot be reached, is too busy, or has no room. */
export function isPostgresAway(error: unknown): boolean {
  return isFailure(error, 'POSTGRES_UNAVAILABLE') || isFailure(error, 'POSTGRES_FULL');
}

/** True for the failure of an insert whose conversation does not exist. */
export function lacksConversation(error: unknown): boolean {
  return breaksReference(error);
}

/** True for the failure of a removal of what another row needs. */
export function isReferred(error: unknown): boolean {
  return breaksReference(error);
}

function breaksReference(error: unknown): boolean {
  return error instanceof Error && codeOf(error.cause) === FOREIGN_KEY_VIOLATION;
}

/** True for the failure of a change that would have violated a unique index or constraint; of the given one, if any. */
export function isDuplicate(error: unknown, constraint?: string): boolean {
  if (!(error instanceof Error) || codeOf(error.cause) !== UNIQUE_VIOLATION) return false;
  return constraint === undefined || (error.cause as { constraint?: string }).constraint === constraint;
}

/** True for a statement that was rolled back because of concurrent statements, and may be repeated. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(codeOf(error) ?? '');
}

function isConnectionProblem(error: unknown, problem: string): boolean {
  const code = codeOf(error);
  return (code !== undefined && (SOCKET_CODES.has(code) || SERVER_CODES.test(code))) || CONNECTION_TEXT.test(problem);
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}

function describe(error: unknown): string {
  // Node tries every address of a name and then throws an AggregateError without a message of its own.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error ? first.message : String(first);
}
