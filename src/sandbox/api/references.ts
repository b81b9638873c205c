import { fillInEnvironment } from '../../common/fill-in-environment.ts';

/**
 * Puts the worker's environment in place of `${env.NAME}`, at the moment of use: rows, options and labels hold the references only, so that the
 * values are kept nowhere. `missing` names a variable that is not set.
 */
export function resolveReferences(
  texts: Record<string, string>,
  readEnvironment: (name: string) => string | undefined,
): { values: Record<string, string> } | { missing: string } {
  let missing: string | undefined;
  try {
    const values = fillInEnvironment(texts, readEnvironment, (name) => {
      missing = name;
      return new Error(name);
    });
    return { values: values as Record<string, string> };
  } catch (error) {
    if (missing === undefined) throw error;
    return { missing };
  }
}
