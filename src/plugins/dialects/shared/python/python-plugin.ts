import { freeExec } from '../../../../contracts/call-ids.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import { ensureOwnDirectory } from '../../../../platform/own-path.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import { definePlugin, type Plugin, type PluginDefinition } from '../../../api/define-plugin.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import type { PluginHost } from '../../../api/plugin.ts';
import type { AnswerTask } from '../../../api/task-question.ts';
import type { LocatedPlugin, PluginSandboxes } from '../plugin-dialect.ts';
import type { WebhookDelivery } from '../../../api/webhook-request.ts';
import { answerTasks } from './answer-tasks.ts';
import { deliverWebhook } from './deliver-webhook.ts';
import { describe, pythonOf, type Describing } from './describe.ts';
import { codeLayer, digestOf, hostLayer, packageLayer } from './layers.ts';
import { createOwnSandboxes } from './own-sandboxes.ts';
import { programOf, upload, type Program } from './program.ts';
import type { Reached, TimersOfPlugin } from './reached.ts';

const CONFIGURE_TIMEOUT_MS = 10_000;
/** A sandbox is made, the packages are copied into it, and its code is imported: seconds, and much longer on a machine that has much to do. */
const CHANGE_TIMEOUT_MS = 120_000;
/** A configuration that comes so late was given up, or is about to be. */
const LATEST_MS = CHANGE_TIMEOUT_MS - 1_000;

/** What runs plugins of a dialect. */
export interface DialectPrograms {
  /** The program that is started. */
  entry: string;
  files: [name: string, content: Buffer][];
}

/** The sandboxes for a plugin. @throws PLUGIN_INVALID where there are none that can hold it */
export async function openSandboxes({ name, sandboxes: open }: LocatedPlugin): Promise<PluginSandboxes> {
  if (!open) throw pluginInvalid(name, 'it is written in Python, and this process has no sandboxes to run it in', 'Load it in a worker');
  const given = await open();
  if (!given.sandboxes.setEgress) {
    throw pluginInvalid(
      name,
      'it is written in Python, and this backend of sandboxes cannot bound what its code reaches',
      'Set LONGSHORE_SANDBOX_BACKEND=docker',
    );
  }
  return given;
}

/**
 * Puts together what a plugin runs from: its files, its packages, the programs of its dialect.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function prepareProgram(
  { name, root }: LocatedPlugin,
  given: PluginSandboxes,
  { entry, files }: DialectPrograms,
  requirements: string[],
): Promise<Omit<Program, 'pluginId'>> {
  const { directory } = given;
  await ensureOwnDirectory(directory);
  const python = await pythonOf(given);
  const layers: Program['layers'] = [
    await codeLayer(name, root, directory),
    await packageLayer(name, requirements, python, directory),
    await hostLayer(files, directory),
  ];
  return { layers, entry };
}

interface Identity extends Pick<Plugin, 'id' | 'version' | 'description' | 'dialect'> {
  configSchema: JsonObject | null;
}

interface Loaded<Described> extends Describing<Described> {
  first: Described;
  identity: Identity;
  /** A changed configuration is given to the process that runs. Otherwise another one begins with it. */
  keepsProcess?: boolean;
  /** What of the plugin depends on its configuration. */
  parts: (described: Described, reached: Reached) => Pick<PluginDefinition, 'tools'> & Partial<PluginDefinition>;
}

/** Gives the settings to the process of the plugin, if it runs. */
async function giveSettings(handle: WorkerHandle, { server, settings }: Reached): Promise<void> {
  const { name } = server();
  if ((await handle.serverMark(name)) === undefined) return;
  const execId = freeExec();
  await handle.callServer(server(), { method: 'longshore/configure', params: settings() }, { execId, timeoutMs: CONFIGURE_TIMEOUT_MS });
  await handle.forget(execId);
}

/** A plugin whose code runs only in sandboxes: in a passing one that tells what it offers, and in one for each tenant that answers the calls. */
export function pythonPlugin<Described>({ first, identity, parts, keepsProcess = false, ...describing }: Loaded<Described>): Plugin {
  const { program, given } = describing;
  const { configSchema, ...about } = identity;
  let config: JsonObject = {};
  const own = createOwnSandboxes({
    pluginId: identity.id,
    given,
    prepare: (handle) => upload(handle, program.layers),
    longestMs: () => Math.max(0, ...plugin.tools.map(({ timeoutMs }) => timeoutMs)),
  });
  const reached: Reached = {
    pluginId: identity.id,
    timers: timersOf(identity.id, given),
    own,
    server: () => (keepsProcess ? programOf(program) : programOf(program, config)),
    settings: () => (keepsProcess ? { config } : {}),
  };
  const configure = async (next: JsonObject) => {
    const begun = performance.now();
    const described = await describe(describing, next);
    if (performance.now() - begun > LATEST_MS) throw new Error('its code said too late what it offers');
    config = next;
    Object.assign(plugin, parts(described, reached));
    if (keepsProcess) await own.tell((handle) => giveSettings(handle, reached));
  };
  const plugin = definePlugin({
    ...about,
    // Approvals are bound to the version: one for these files and packages must not count for others.
    version: `${identity.version}+${digestOf(JSON.stringify(program.layers.map((layer) => layer.name)))}`,
    configSchema: configSchema?.['type'] === 'object' ? configSchema : { type: 'object' },
    ...parts(first, reached),
    async load(host: PluginHost) {
      await own.setNetwork(host.network ?? []);
      if (Object.keys(host.config).length > 0) await configure(host.config);
    },
    async updateConfig(scope, data) {
      if (scope === 'self') await configure(data);
    },
  });
  const { hookTimeoutMs } = parts(first, reached);
  return Object.assign(plugin, {
    setNetwork: (hosts: readonly string[]) => own.setNetwork(hosts),
    answerTasks: (tenantId: string, answer: AnswerTask) => own.visit(tenantId, (handle) => answerTasks(reached, handle, tenantId, answer)),
    changeTimeoutMs: CHANGE_TIMEOUT_MS,
    receive: (delivery: WebhookDelivery) => deliverWebhook(reached, delivery),
    ...(hookTimeoutMs !== undefined && { hookTimeoutMs }),
  });
}

function timersOf(pluginId: string, { timers }: Pick<PluginSandboxes, 'timers'>): TimersOfPlugin {
  return {
    set: (conversationId, timer) => timers.set({ pluginId, conversationId }, timer),
    waiting: (conversationId) => timers.waiting({ pluginId, conversationId }),
    clear: (conversationId, which) => timers.clear({ pluginId, conversationId }, which),
  };
}
