import { join } from 'node:path';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import { ensureOwnDirectory } from '../../../../platform/own-path.ts';
import { definePlugin, defineTool, type Plugin, type Tool, type ToolResult } from '../../../api/define-plugin.ts';
import type { SandboxServer } from '../../../../sandbox/api/host-methods.ts';
import type { OwnSandbox } from '../../../api/own-sandbox.ts';
import { alertsOf } from '../../../api/plugin-details.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import type { PluginHost } from '../../../api/plugin.ts';
import { isFile } from '../../../files/is-file.ts';
import type { LocatedPlugin, PluginSandboxes } from '../../shared/plugin-dialect.ts';
import { callOriginal } from './call-original.ts';
import { describe, pythonOf, type Described } from './describe.ts';
import { codeLayer, digestOf, hostLayer, packageLayer } from './layers.ts';
import { ENTRY, MANIFEST, readManifest, type Manifest } from './manifest.ts';
import { createOwnSandboxes } from './own-sandboxes.ts';
import { programOf, upload, type Program } from './program.ts';

const LONGEST_ID = 80;

/** The entry of a plugin that is written for MaiBot, in Python. */
export async function locateOriginal(root: string): Promise<string | undefined> {
  const entry = join(root, ENTRY);
  return (await isFile(entry)) && (await isFile(join(root, MANIFEST))) ? entry : undefined;
}

/**
 * Loads a plugin that is written for MaiBot, as it is. Its code runs only in sandboxes: in a passing one that tells what it offers, and in one for each tenant
 * that answers the calls.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadOriginal({ name, root, sandboxes: open }: LocatedPlugin, resultOf: Loaded['resultOf']): Promise<Plugin> {
  if (!open) throw pluginInvalid(name, 'it is written in Python, and this process has no sandboxes to run it in', 'Load it in a worker');
  const manifest = await readManifest(name, root);
  const given = await open();
  if (!given.sandboxes.setEgress) {
    throw pluginInvalid(
      name,
      'it is written in Python, and this backend of sandboxes cannot bound what its code reaches',
      'Set LONGSHORE_SANDBOX_BACKEND=docker',
    );
  }
  const { directory } = given;
  await ensureOwnDirectory(directory);
  const python = await pythonOf(given);
  const layers: Program['layers'] = [
    await codeLayer(name, root, directory),
    await packageLayer(name, manifest.requirements, python, directory),
    await hostLayer(directory),
  ];
  return pluginOf(
    { name, manifest, given, resultOf, program: { pluginId: manifest.id, layers } },
    await describe(name, { pluginId: manifest.id, layers }, {}, given),
  );
}

interface Loaded {
  name: string;
  manifest: Manifest;
  given: PluginSandboxes;
  program: Program;
  /** What a handler of MaiBot returns, as a result of a tool. */
  resultOf: (value: unknown) => ToolResult;
}

function pluginOf({ name, manifest, given, program, resultOf }: Loaded, first: Described): Plugin {
  let config: JsonObject = {};
  const own = createOwnSandboxes({
    pluginId: manifest.id,
    given,
    prepare: (handle) => upload(handle, program.layers),
    longestMs: () => Math.max(0, ...plugin.tools.map(({ timeoutMs }) => timeoutMs)),
  });
  const parts = (described: Described): Pick<Plugin, 'tools' | 'alerts'> => ({
    tools: toolsOf(described, own, { server: () => programOf(program, config), resultOf }),
    alerts: alertsOf(warningsAbout(manifest, described).map((text) => ({ level: 'warning', text }))),
  });
  const configure = async (next: JsonObject) => {
    const described = await describe(name, program, next, given);
    config = next;
    Object.assign(plugin, parts(described));
  };
  const plugin = definePlugin({
    id: manifest.id,
    // Approvals are bound to the version: one for these files and packages must not count for others.
    version: `${manifest.version}+${digestOf(JSON.stringify(program.layers.map((layer) => layer.name)))}`,
    description: manifest.description,
    dialect: 'maibot',
    configSchema: first.configSchema?.['type'] === 'object' ? first.configSchema : { type: 'object' },
    ...parts(first),
    async load(host: PluginHost) {
      await own.setNetwork(host.network ?? []);
      if (Object.keys(host.config).length > 0) await configure(host.config);
    },
    async updateConfig(scope, data) {
      if (scope === 'self') await configure(data);
    },
  });
  return Object.assign(plugin, { setNetwork: (hosts: readonly string[]) => own.setNetwork(hosts) });
}

interface Calling extends Pick<Loaded, 'resultOf'> {
  server: () => SandboxServer;
}

function toolsOf({ tools }: Described, own: OwnSandbox, { server, resultOf }: Calling): Tool[] {
  return tools.map(({ name, description, brief, parameters, timeoutMs }): Tool => {
    const tool = defineTool({
      id: idOf(name),
      description: description.trim() || name,
      parameters: { ...parameters, type: 'object' },
      timeoutMs,
      ...(brief.trim() !== '' && { brief: brief.trim() }),
      execute: (input, context) => callOriginal({ server: server(), tool: name, timeoutMs, resultOf }, input, context),
    });
    return { ...tool, isolation: 'own', ownSandbox: own };
  });
}

/** Most names are usable as they are. */
function idOf(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,80}$/.test(name)) return name;
  return `${name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, LONGEST_ID - 17)}_${digestOf(name)}`;
}

/** What of the plugin does not work here. */
function warningsAbout({ plugins }: Manifest, { tools, others, capabilities, foreign }: Described): string[] {
  const kinds = [...new Set(others.map(({ type }) => type))];
  const namesOf = (kind: string) => others.flatMap(({ type, name }) => (type === kind ? [name] : [])).join(', ');
  return [
    ...(tools.length === 0 ? ['It has no tools, so agents have no use for it.'] : []),
    ...kinds.map((kind) => cutMiddle(`Its parts of the kind ${kind} are not run, only its tools are: ${namesOf(kind)}`, 900)),
    ...capabilities.flatMap(({ name, refusal }) => (refusal === null ? [] : [`It uses ${name}, which is refused when it is called: ${refusal}`])),
    ...(foreign.length > 0 ? [`It imports modules of MaiBot itself, which do not exist here: ${foreign.join(', ')}`] : []),
    ...(plugins.length > 0 ? [`Plugins cannot call each other, and it wants: ${plugins.join(', ')}`] : []),
  ];
}
