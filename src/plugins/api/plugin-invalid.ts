import { failure } from '../../contracts/errors.ts';

/** The error of a plugin that cannot be used. `name` is its id, or how agents name it. */
export function pluginInvalid(name: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
}
