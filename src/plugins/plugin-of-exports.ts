/** Under this name an object of another dialect gives itself as a canonical plugin; registered, so that every copy of the module agrees on it. */
export const AS_PLUGIN = Symbol.for('longshore.plugin');

/**
 * The plugin that a module provides: its default export, or what its `createPlugin` gives.
 * @throws an Error that says what is missing.
 */
export function pluginOfExports(exports: Record<string, unknown> | undefined): Record<string, unknown> {
  const create = exports?.['createPlugin'];
  if (typeof create !== 'function') return objectOf(exports?.['default'], 'it has no plugin as its default export; write: export default definePlugin({ … })');
  const made = objectOf((create as () => unknown)(), 'its createPlugin() gave no object');
  const convert = made[AS_PLUGIN];
  if (typeof convert !== 'function') throw new Error("what its createPlugin() gave is no MaiBotPlugin of 'longshore/maibot'");
  return convert.call(made) as Record<string, unknown>;
}

function objectOf(value: unknown, problem: string): Record<string | symbol, unknown> {
  if (value === null || typeof value !== 'object') throw new Error(problem);
  return value as Record<string | symbol, unknown>;
}
