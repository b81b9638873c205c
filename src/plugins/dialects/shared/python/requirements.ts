import { pluginInvalid } from '../../../api/plugin-invalid.ts';

const NAME = '[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?';
const EXTRAS = `(?:\\s*\\[\\s*${NAME}(?:\\s*,\\s*${NAME})*\\s*\\])?`;
const BOUND = '(?:===|~=|==|!=|<=|>=|<|>)\\s*[A-Za-z0-9.*+!_-]+';
const BOUNDS = `(?:\\s*${BOUND}(?:\\s*,\\s*${BOUND})*)?`;
/** Conditions such as `python_version < "3.12"`. */
const MARKER = '(?:\\s*;[\\s\\w."\'<>=!()~-]*)?';
const REQUIREMENT = new RegExp(`^${NAME}${EXTRAS}${BOUNDS}${MARKER}$`);

/**
 * The requirements of a plugin, sorted, each once. Only names of packages with bounds for their versions are accepted: a file, an address or an option could
 * make pip read other files of the machine, ask another index, or run code of a stranger.
 * @throws PLUGIN_INVALID naming the first one that is refused
 */
export function requirementsOf(plugin: string, wanted: string[], listed: string): string[] {
  const lines = listed.split(/\r?\n/).map((line) => line.replace(/(^|\s)#.*$/, '').trim());
  const all = [...wanted, ...lines.filter((line) => line !== '')].map((line) => line.trim());
  const refused = all.find((line) => line.length > 300 || !REQUIREMENT.test(line));
  if (refused === undefined) return [...new Set(all)].toSorted();
  throw pluginInvalid(
    plugin,
    `its requirement ${JSON.stringify(refused.slice(0, 100))} is not supported: only names of packages with versions are, such as "httpx>=0.27"`,
    'Change it in its manifest or requirements.txt',
  );
}

/** With what the original system brings itself. A package that the plugin names has the versions that the plugin wants. */
export function withBrought(own: string[], brought: string[]): string[] {
  const named = new Set(own.map(packageOf));
  return [...own, ...brought.filter((line) => !named.has(packageOf(line)))].toSorted();
}

/** The name of the package of a requirement, as pip compares names. */
function packageOf(requirement: string): string {
  const [written = ''] = /^[\w.-]+/.exec(requirement) ?? [];
  return written.toLowerCase().replaceAll(/[-_.]+/g, '-');
}
