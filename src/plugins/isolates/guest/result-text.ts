import { excessOf } from '../../../contracts/foreign-json.ts';
import { lostInJson } from '../../../contracts/plugins/lost-in-json.ts';

/**
 * The result of a call as JSON.
 * @throws an Error for a result that the worker would refuse, with the reason.
 */
export function resultText(value: unknown): string {
  const written = JSON.stringify(value) as string | undefined;
  if (written === undefined) throw new Error(`it returned a ${typeof value}, which is no JSON`);
  const lost = lostInJson(value, written);
  if (lost !== undefined) throw new Error(`it returned an object of the kind ${lost}, of which JSON keeps nothing; return an object, a list or a text`);
  const excess = excessOf(written);
  if (excess !== undefined) throw new Error(`its result ${excess}; return a smaller one, or a part of it as text`);
  return written;
}
