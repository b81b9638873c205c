export const YAML_FILE = /\.ya?ml$/;
const MODULE_FILE = /(?<!\.d)\.(js|mjs|ts)$/;

/** Whether a file of a directory is a definition. Files with a dot before their names are those of editors and file systems: `.#agent.yaml`, `._agent.yaml`. */
export function isDefinition(name: string): boolean {
  return !name.startsWith('.') && (YAML_FILE.test(name) || MODULE_FILE.test(name));
}
