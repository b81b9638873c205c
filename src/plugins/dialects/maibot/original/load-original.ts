import { join } from 'node:path';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import { defineTool, type Plugin, type Tool, type ToolResult } from '../../../api/define-plugin.ts';
import { alertsOf } from '../../../api/plugin-details.ts';
import { isFile } from '../../../files/is-file.ts';
import type { LocatedPlugin } from '../../shared/plugin-dialect.ts';
import { callPython } from '../../shared/python/call-python.ts';
import { describe } from '../../shared/python/describe.ts';
import { programsAt } from '../../shared/python/layers.ts';
import { openSandboxes, prepareProgram, pythonPlugin, type DialectPrograms } from '../../shared/python/python-plugin.ts';
import type { Reached } from '../../shared/python/reached.ts';
import { callerOf } from './caller-of.ts';
import { commandsOf, commandsText } from '../../shared/python/commands.ts';
import { describedSchema, type Described } from './described.ts';
import { hooksOf } from './hooks-of.ts';
import { idOf } from '../../shared/python/id-of.ts';
import { ENTRY, MANIFEST, readManifest, type Manifest } from './manifest.ts';

const PROGRAMS: DialectPrograms = {
  entry: 'maibot_host.py',
  files: programsAt(import.meta.url, 'longshore_maibot', ['maibot_host.py']),
};

/** What a handler of MaiBot returns, as a result of a tool. */
type ResultOf = (value: unknown) => ToolResult;

/** The entry of a plugin that is written for MaiBot, in Python. */
export async function locateOriginal(root: string): Promise<string | undefined> {
  const entry = join(root, ENTRY);
  return (await isFile(entry)) && (await isFile(join(root, MANIFEST))) ? entry : undefined;
}

/**
 * Loads a plugin that is written for MaiBot, as it is.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadOriginal(located: LocatedPlugin, resultOf: ResultOf): Promise<Plugin> {
  const { name, root } = located;
  const given = await openSandboxes(located);
  const manifest = await readManifest(name, root);
  const program = await prepareProgram(located, given, PROGRAMS, manifest.requirements);
  const describing = { name, given, program: { pluginId: manifest.id, ...program }, schema: describedSchema };
  const first = await describe(describing, {});
  const { id, version, description } = manifest;
  return pythonPlugin({
    ...describing,
    first,
    identity: { id, version, description, dialect: 'maibot', configSchema: first.configSchema },
    keepsProcess: true,
    parts: (described, reached) => ({
      tools: [...toolsOf(described, reached, resultOf), ...commandsOf(described.commands, reached, callerOf), ...hooksOf(described, reached)],
      promptText: async () => commandsText(described.commands),
      alerts: alertsOf(warningsAbout(manifest, described).map((text) => ({ level: 'warning', text }))),
    }),
  });
}

function toolsOf({ tools }: Described, reached: Reached, resultOf: ResultOf): Tool[] {
  return tools.map(({ name, description, brief, parameters, timeoutMs }): Tool => {
    const tool = defineTool({
      id: idOf(name),
      description: description.trim() || name,
      parameters: { ...parameters, type: 'object' },
      timeoutMs,
      ...(brief.trim() !== '' && { brief: brief.trim() }),
      execute: (input, context) => callPython({ reached, tool: name, timeoutMs, caller: callerOf(context), resultOf }, input, context),
    });
    return { ...tool, isolation: 'own', ownSandbox: reached.own };
  });
}

/** What of the plugin does not work here. */
function warningsAbout({ plugins }: Manifest, { tools, commands, hooks, others, capabilities, foreign }: Described): string[] {
  const kinds = [...new Set(others.map(({ type }) => type))];
  const namesOf = (kind: string) => others.flatMap(({ type, name }) => (type === kind ? [name] : [])).join(', ');
  return [
    ...(tools.length + commands.length + hooks.filter(({ point }) => point !== null).length === 0
      ? ['It has no tools, no commands and no hooks of conversations, so agents have no use for it.']
      : []),
    ...commands.flatMap(({ name, given, pattern }) =>
      pattern === null ? [`Its command ${name} is not run, because its pattern cannot be used for messages: ${JSON.stringify(given)}`] : [],
    ),
    ...hooks.flatMap(({ name, of, refusal }) => (refusal === null ? [] : [`Its handler ${name} of ${of} is not run: ${refusal}`])),
    ...kinds.map((kind) => cutMiddle(`Its parts of the kind ${kind} are not run: ${namesOf(kind)}`, 900)),
    ...capabilities.flatMap(({ name, refusal }) => (refusal === null ? [] : [`It uses ${name}, which is refused when it is called: ${refusal}`])),
    ...(foreign.length > 0 ? [`It imports modules of MaiBot itself, which do not exist here: ${foreign.join(', ')}`] : []),
    ...(plugins.length > 0 ? [`Plugins cannot call each other, and it wants: ${plugins.join(', ')}`] : []),
  ];
}
