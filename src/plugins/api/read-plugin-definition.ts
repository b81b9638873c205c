/** Reads what authors give to `defineTool` and `definePlugin`: any value, perhaps with misspelt options. */
import { nearest } from '../../common/nearest.ts';
import { failure, isFailure } from '../../contracts/errors.ts';

/** Shorter names are not compared: a difference of two letters is too large a part of them. */
const SHORTEST_COMPARED = 5;
const LONGEST_COMPARED = 40;

const SHOWN_CHARACTERS = 200;

/** The fields of a definition may have any type, and its getters may throw. */
export function readable<T>(what: string, example: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (isFailure(error)) throw error;
    const problem = `it cannot be read as the definition of ${what} (${shown(error instanceof Error ? error.message : typeof error)})`;
    throw failure('PLUGIN_INVALID', { plugin: '(unknown)', problem, fix: `Write it as ${example}` }, error);
  }
}

/** An unknown option and the known one that was probably meant, both in quotes. Other unknown options, and all fields of a class, belong to the author. */
export function misspeltOf(definition: object, known: string[]): string[] | undefined {
  const prototype: unknown = Object.getPrototypeOf(definition);
  // A plugin from another realm has another `Object.prototype`.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  const given = isPlain
    ? Object.keys(definition).filter((key) => key.length >= SHORTEST_COMPARED && key.length <= LONGEST_COMPARED && !known.includes(key))
    : [];
  for (const key of given.slice(0, LONGEST_COMPARED)) {
    const meant = nearest(key, known, 2);
    if (meant !== undefined) return [JSON.stringify(key), JSON.stringify(meant)];
  }
  return undefined;
}

/** In quotes; a long id is cut. */
export function shownId(id: unknown): string {
  return typeof id === 'string' && id.length > SHOWN_CHARACTERS ? JSON.stringify(shown(id)) : shown(JSON.stringify(id));
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '(none)');
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}
