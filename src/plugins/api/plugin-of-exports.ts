/** Key of the method by which an object of another dialect returns itself as a plugin definition. `Symbol.for` makes it equal in every copy of this module. */
export const AS_PLUGIN = Symbol.for('longshore.plugin');

/**
 * The plugin that a module provides: its default export, or what its `createPlugin` returns.
 * @throws an Error that says what is missing.
 */
export function pluginOfExports(given: Record<string, unknown> | undefined): Record<string, unknown> {
  const exports = given && asModule(given);
  const create = exports?.['createPlugin'];
  if (typeof create !== 'function') return objectOf(exports?.['default'], 'it has no plugin as its default export; write: export default definePlugin({ … })');
  const made = objectOf((create as () => unknown)(), 'its createPlugin() gave no object');
  const convert = made[AS_PLUGIN];
  if (typeof convert !== 'function') throw new Error("what its createPlugin() gave is no MaiBotPlugin of 'longshore/maibot'");
  return convert.call(made) as Record<string, unknown>;
}

/** In CommonJS, the exports may be the plugin itself. When Node imports CommonJS, all its exports are in the default export. */
function asModule(exports: Record<string, unknown>): Record<string, unknown> {
  const { default: inner, createPlugin } = exports;
  if (typeof createPlugin === 'function') return exports;
  if (inner === undefined && typeof exports['id'] === 'string' && Array.isArray(exports['tools'])) return { default: exports };
  const isModule = inner !== null && typeof inner === 'object' && ('createPlugin' in inner || 'default' in inner);
  return isModule ? inner : exports;
}

function objectOf(value: unknown, problem: string): Record<string | symbol, unknown> {
  if (value === null || typeof value !== 'object') throw new Error(problem);
  return value as Record<string | symbol, unknown>;
}
