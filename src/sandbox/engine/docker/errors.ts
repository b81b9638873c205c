import { failure, isFailure, type LongshoreError } from '../../../contracts/errors.ts';

/** An error of dockerode: it has an HTTP status or the code of a socket error. */
interface DockerodeError {
  message?: string;
  code?: string;
  statusCode?: number;
  json?: { message?: string };
}

const SOCKET_ERRORS = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EACCES',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** A program that starts containers has ended without an error of its own, and the engine says no more than that. Programs in Go do so when the kernel refuses memory. */
const SILENT_END = /unable to retrieve OCI runtime error|did not terminate successfully: (?:exit status (?:2|134|137)|signal: killed)/;
/** The kernel refuses memory to the engine, or to a program that it starts. Those in Go then print all that they do, in many lines. */
const NO_MEMORY = /cannot allocate memory|failed to reserve [a-z ]*memory|runtime: out of memory|not enough memory/i;

/** HTTP status of an error of the engine; undefined for any other error. */
export function engineStatus(error: unknown): number | undefined {
  return (error as DockerodeError | undefined)?.statusCode;
}

/** Translates an error of the engine to one of the table of errors; no other code does. `action` completes "refused to …". */
export function mapEngineError(error: unknown, action: string, image?: string): LongshoreError {
  if (isFailure(error)) return error;
  const { code, statusCode, json, message } = (error ?? {}) as DockerodeError;
  const said = (json?.message ?? message ?? String(error)).trim();
  const problem = described(said);
  if (statusCode === undefined && code !== undefined && SOCKET_ERRORS.has(code)) return failure('DOCKER_UNAVAILABLE', { problem }, error);
  if (image !== undefined && statusCode === 404) return failure('IMAGE_NOT_FOUND', { image }, error);
  return failure('DOCKER_FAILED', { action, problem }, error);
}

function described(said: string): string {
  if (NO_MEMORY.test(said)) return `its machine has no memory for that now (${firstLine(said)}). What waits for it is tried again`;
  if (SILENT_END.test(said))
    return `what starts containers ended without an error, as when its machine has no memory (${firstLine(said)}). What waits for it is tried again`;
  return said;
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').trim();
}

/** Runs calls to the engine and translates their errors. */
export async function mapped<T>(action: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw mapEngineError(error, action);
  }
}

/** The same as `mapped`, but an error with one of these statuses counts as success. */
export async function ignoring(statuses: number[], action: string, call: () => Promise<unknown>): Promise<void> {
  await mapped(action, async () => {
    try {
      await call();
    } catch (error) {
      if (!statuses.includes(engineStatus(error) ?? 0)) throw error;
    }
  });
}
