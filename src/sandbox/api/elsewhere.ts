import { failure, isFailure } from '../../contracts/errors.ts';
import type { Elsewhere } from '../../contracts/hosts/elsewhere.ts';

/** @param why it has to be there; by default, because it is there */
export function elsewhereFailure({ sandboxId, host, waitMs }: Elsewhere, here: string, why = `it is on host "${host}"`): Error {
  const error = failure('SANDBOX_UNREACHABLE', { sandboxId, problem: `${why}, this is "${here}"; use it there` });
  Object.assign(error.values, { host, waitMs });
  return error;
}

/** Where the sandbox is, when the error says that it is on another host that is there. */
export function elsewhereOf(error: unknown): Elsewhere | undefined {
  if (!isFailure(error, 'SANDBOX_UNREACHABLE')) return undefined;
  const { sandboxId, host, waitMs } = error.values;
  return typeof sandboxId === 'string' && typeof host === 'string' && typeof waitMs === 'number' ? { sandboxId, host, waitMs } : undefined;
}
