import { failure, isFailure, type ErrorCode } from '../contracts/errors.ts';
import type { FileEvent, FileWatch } from '../sandbox/api/files.ts';
import type { Pty } from '../sandbox/api/terminals.ts';

/** How a handle was closed. */
export type Closed = 'released' | 'destroyed';
type AnyFunction = (...given: unknown[]) => unknown;

/** Errors of a call in progress whose connections are closed. */
const UNDER_IT = new Set<ErrorCode>([
  'SANDBOX_UNREACHABLE',
  'SANDBOX_LOST',
  'SANDBOX_CONFLICT',
  'POSTGRES_UNAVAILABLE',
  'POSTGRES_FULL',
  'DOCKER_UNAVAILABLE',
  'DOCKER_FAILED',
  'INTERNAL',
]);

export interface UntilClosedOptions {
  sandboxId: string;
  closed: () => Closed | undefined;
}

/**
 * The same methods with a clear error after the handle was closed: before they do anything, and in place of the error that a call in progress gets then.
 * Commands that were followed when the sandbox was released continue to run; their calls reject with `DETACHED`.
 */
export function untilClosed<T extends object>(target: T, options: UntilClosedOptions): T {
  const entries = Object.entries(target).map(([name, part]) => [name, typeof part === 'function' ? guarded(name, part as AnyFunction, options) : part]);
  return Object.fromEntries(entries) as T;
}

function guarded(name: string, method: AnyFunction, options: UntilClosedOptions): AnyFunction {
  return (...given) => {
    const { closed } = options;
    const how = closed();
    if (how !== undefined) return refuse(name, closedError(name, how, options));
    const made = method(...given);
    if (isIterable(made)) return iterate(name, made, options);
    return made instanceof Promise ? settle(name, made, options) : made;
  };
}

/** Fails in the way of the method: one that returns an iterable throws at once. */
function refuse(name: string, error: Error): Promise<never> {
  if (name === 'readFileStream') throw error;
  return Promise.reject(error);
}

async function settle(name: string, made: Promise<unknown>, options: UntilClosedOptions): Promise<unknown> {
  try {
    const result = await made;
    if (name === 'watch') return watchUntilClosed(result as FileWatch, options);
    return name === 'openPty' || name === 'attachPty' ? ptyUntilClosed(result as Pty, options) : result;
  } catch (error) {
    throw truth(name, error, options);
  }
}

function watchUntilClosed(watch: FileWatch, options: UntilClosedOptions): FileWatch {
  return {
    closed: watch.closed,
    close: () => watch.close(),
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
    [Symbol.asyncIterator]: () => iterate('watch', watch, options) as AsyncGenerator<FileEvent>,
  };
}

function ptyUntilClosed(pty: Pty, options: UntilClosedOptions): Pty {
  const methods: Pick<Pty, 'write' | 'resize' | 'kill'> = {
    write: (data) => pty.write(data),
    resize: (size) => pty.resize(size),
    kill: () => pty.kill(),
  };
  const ended = settle('ended', pty.ended, options) as Pty['ended'];
  // A caller that does not use `ended` must not cause an unhandled rejection.
  ended.catch(() => undefined);
  return {
    ptyId: pty.ptyId,
    get offset() {
      return pty.offset;
    },
    ended,
    ...untilClosed(methods, options),
    detach: () => pty.detach(),
  };
}

async function* iterate(name: string, source: AsyncIterable<unknown>, options: UntilClosedOptions): AsyncGenerator {
  try {
    yield* source;
  } catch (error) {
    throw truth(name, error, options);
  }
}

function truth(name: string, error: unknown, { sandboxId, closed }: UntilClosedOptions): unknown {
  const how = closed();
  if (how === undefined || !isFailure(error)) return error;
  if (how === 'destroyed') return error.code === 'DETACHED' || UNDER_IT.has(error.code) ? failure('SANDBOX_DESTROYED', { sandboxId }, error) : error;
  return UNDER_IT.has(error.code) ? closedError(name, how, { sandboxId }) : error;
}

export function closedError(name: string, how: Closed, { sandboxId }: Pick<UntilClosedOptions, 'sandboxId'>): Error {
  const fixes: Record<Closed, string> = {
    released: `The sandbox itself still exists: openSandbox({ sandboxId: "${sandboxId}" })`,
    destroyed: 'Open a new one: openSandbox()',
  };
  return failure('SANDBOX_CLOSED', { sandboxId, method: name, how, fix: fixes[how] });
}

function isIterable(made: unknown): made is AsyncIterable<unknown> {
  return typeof made === 'object' && made !== null && Symbol.asyncIterator in made;
}
