/** What the instructions say of a plugin and its methods. Used in bundles of plugins, too. */
import type { ToolKind } from '../../../api/define-plugin.ts';
import { headOf, type Signature } from './signature.ts';
import { takenBy } from './taken-names.ts';

const CALLS = 'Python and JavaScript code that you run in the sandbox may call these functions by their names, without an import:';
const ENDING: ToolKind[] = ['agent', 'multimodal_agent'];

interface Section {
  /** The plugin's name for people. */
  name: string;
  /** Its own text. */
  told: string | undefined;
  /** What is said of each method, as `docOf` gives it. */
  methods: string[];
  /** Only the calls are shown. */
  sleeps: boolean;
}

/** The section of a plugin; empty if there is nothing to say. */
export function sectionOf({ name, told, methods, sleeps }: Section): string {
  const parts = [told, ...(methods.length > 0 ? [CALLS, ...(sleeps ? [namesOf(methods)] : methods)] : [])];
  const text = parts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');
  return text === '' ? '' : `<plugin name=${JSON.stringify(name)}>\n${text}\n</plugin>`;
}

/** The call of a method, and its comment. */
export function docOf(name: string, kind: ToolKind, signature: Signature, doc: string): string {
  return `${headOf(name, signature)}${ENDING.includes(kind) ? ' — the program ends at this call' : ''}\n${doc}`;
}

/** Programs call a method whose name means something else by that of its plugin and its own. */
export function nameInCode(pluginId: string, id: string): { name: string; alert?: string } {
  const by = takenBy(id);
  if (by === undefined) return { name: id };
  const name = `${pluginId.replaceAll(/[^A-Za-z0-9]/g, '_')}_${id}`;
  const alert = `the method "${id}" cannot be called by that name alone: ${by}. The instructions describe it as ${name}, by which programs call it`;
  return { name, alert };
}

/** The first line of each description, which shows how to call the method. */
function namesOf(methods: string[]): string {
  return `${methods.map((doc) => doc.split('\n')[0]).join('\n')}\nWhat one of them does is printed by help(…) in Python; read that before you call it.`;
}
