import { fillInEnvironment } from '../../../../common/fill-in-environment.ts';
import { failure } from '../../../../contracts/errors.ts';

export type ReadEnvironment = (name: string) => string | undefined;

/** Replaces references in a part of a server's definition by the worker's variables. @throws PLUGIN_INVALID for a variable that the worker does not have. */
export function fillInServer<Value>(name: string, value: Value, readEnvironment: ReadEnvironment): Value {
  const missing = (variable: string) => invalidServer(name, `the environment variable ${variable} is not set`, `Set ${variable} for the worker`);
  return fillInEnvironment(value, readEnvironment, missing) as Value;
}

export function invalidServer(name: string, problem: string, fix: string): Error {
  return failure('PLUGIN_INVALID', { plugin: `mcp:${name}`, problem, fix });
}
