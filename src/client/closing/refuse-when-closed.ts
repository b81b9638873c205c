import { failure, isFailure, type ErrorCode } from '../../contracts/errors.ts';

type AnyFunction = (...given: unknown[]) => unknown;

/** Errors of a call in progress whose connections are closed. */
const UNDER_IT = new Set<ErrorCode>(['POSTGRES_UNAVAILABLE', 'TEMPORAL_UNAVAILABLE', 'INTERNAL']);

/**
 * The same client, whose calls fail with CLIENT_CLOSED when it is closed: those that begin later, and those in progress that would blame its connections. Iterations
 * that have begun end.
 */
export function refuseWhenClosed<Client extends AsyncDisposable>(client: Client, closing: AbortSignal): Client {
  return { ...guardedAll(client, closing), [Symbol.asyncDispose]: client[Symbol.asyncDispose] };
}

function guardedAll<T extends object>(calls: T, closing: AbortSignal): T {
  const guardedOne = (name: string, part: unknown) =>
    typeof part === 'function' ? guarded(name, part as AnyFunction, closing) : guardedAll(part as object, closing);
  return Object.fromEntries(Object.entries(calls).map(([name, part]) => [name, guardedOne(name, part)])) as T;
}

function guarded(name: string, call: AnyFunction, closing: AbortSignal): AnyFunction {
  return (...given) => {
    if (isIteration(name)) return iterate(() => call(...given) as AsyncIterable<unknown>, closing);
    return settle(() => call(...given), closing);
  };
}

function isIteration(name: string): boolean {
  return name === 'events' || name === 'treeEvents';
}

async function settle(call: () => unknown, closing: AbortSignal): Promise<unknown> {
  if (closing.aborted) throw failure('CLIENT_CLOSED', {});
  try {
    return await call();
  } catch (error) {
    throw closing.aborted && isFailure(error) && UNDER_IT.has(error.code) ? failure('CLIENT_CLOSED', {}, error) : error;
  }
}

/** An iteration begins when its first event is asked for. */
async function* iterate(call: () => AsyncIterable<unknown>, closing: AbortSignal): AsyncGenerator {
  if (closing.aborted) throw failure('CLIENT_CLOSED', {});
  yield* call();
}
