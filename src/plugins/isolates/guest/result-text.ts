import { excessOf } from '../../../contracts/foreign-json.ts';

/**
 * The result of a call as JSON.
 * @throws an Error for a result that the worker would refuse, with the reason.
 */
export function resultText(value: unknown): string {
  const written = JSON.stringify(value) as string | undefined;
  if (written === undefined) throw new Error(`it returned a ${typeof value}, which is no JSON`);
  const excess = excessOf(written);
  if (excess !== undefined) throw new Error(`its result ${excess}; return a smaller one, or a part of it as text`);
  return written;
}
