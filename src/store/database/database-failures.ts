import { failure, isFailure, type ErrorValues, type LongshoreError } from '../../contracts/errors.ts';

const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);
/** Shutting down, starting, out of connections, refused log-in, no such database; every `08…` is a broken connection. */
const SERVER_CODES = /^(?:08...|57P0[123]|53300|28...|3D000)$/;
const CONNECTION_TEXT =
  /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|query read timeout|pool after calling end/i;
/** Of `longshore_take_room`. */
const NO_ROOM = 'LS001';
const FOREIGN_KEY_VIOLATION = '23503';
const UNIQUE_VIOLATION = '23505';
/** Serialization failure and deadlock: the statement was rolled back because of concurrent ones. */
const CONFLICTS = new Set(['40001', '40P01']);

/**
 * Translates any error of pg into an error of the table: `POSTGRES_UNAVAILABLE` when the database cannot be reached or is too busy, else `INTERNAL`.
 */
export function postgresFailure(error: unknown): LongshoreError {
  if (isFailure(error)) return error;
  if (codeOf(error) === NO_ROOM) return failure('HOST_FULL', JSON.parse((error as { detail: string }).detail) as ErrorValues<'HOST_FULL'>, error);
  const problem = describe(error);
  if (isConflict(error))
    return failure('POSTGRES_UNAVAILABLE', { problem: `it rolled a statement back repeatedly because of concurrent transactions (${problem})` }, error);
  return isConnectionProblem(error, problem) ? failure('POSTGRES_UNAVAILABLE', { problem }, error) : failure('INTERNAL', { problem }, error);
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
