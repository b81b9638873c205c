import { fillInEnvironment } from '../../common/fill-in-environment.ts';

/**
 * Replaces `${env.NAME}` with the value from the worker's environment, at the moment of use. Rows, options and labels contain only the references, so that
 * the values are not stored anywhere. `missing` names a variable that is not set.
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
