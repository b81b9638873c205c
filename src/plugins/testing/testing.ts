import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { z } from 'zod';
import { jsonObject, read, textSchema } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { createLogger } from '../../platform/log.ts';
import type { Plugin, PluginStore, ToolContext, ToolResult } from '../api/define-plugin.ts';
import type { CommandResult } from '../../sandbox/api/commands.ts';
import { openIsolates } from '../isolates/load-isolated.ts';
import { startInstance, stopInstance } from '../manager/plugin-instance.ts';
import { loadSource } from '../manager/plugin-source.ts';
import { createRegistry } from '../registry/registry.ts';
import type { SandboxedRun } from '../api/tool-context.ts';

export interface OpenOptions {
  /** Which plugin, if the directory has several. Default: the first. */
  id?: string;
  /** Checked as a worker checks it; `${env.NAME}` is filled in from `env`. */
  config?: JsonObject;
  env?: Record<string, string>;
  /** Parts of the context of its calls. They replace the default parts. */
  context?: Partial<ToolContext>;
}

/** A plugin under test, loaded as workers load it: bundled, in an isolated process. */
export interface OpenedPlugin extends AsyncDisposable {
  plugin: Plugin;
  /** Calls a tool by its id within the plugin. Arguments are checked as in a conversation, results are not checked. */
  call(tool: string, input?: JsonObject, context?: Partial<ToolContext>): Promise<ToolResult>;
  /** What its calls have sent to the user. */
  sent: (string | ContentPart)[];
  /** What its calls have noted for the model besides their results. */
  notes: string[];
  /** The same as disposal. */
  close(): Promise<void>;
}

const openOptions = z.strictObject({
  id: textSchema(200).optional(),
  config: jsonObject.optional(),
  env: z.record(z.string(), z.string()).optional(),
  context: z
    .custom((value) => typeof value === 'object' && value !== null, { error: 'it is no object', params: { fix: 'Give parts of a context' } })
    .optional(),
});

/**
 * Opens the plugin of a directory for a test. Its store is in memory, `fetch` fails unless the test gives its own, and there is no sandbox: code with
 * `isolation: 'container'` runs in the process of the test.
 * @throws PLUGIN_INVALID as in a worker
 */
export async function openPlugin(directory: string, options: OpenOptions = {}): Promise<OpenedPlugin> {
  read('openPlugin.directory', textSchema(4_000), directory);
  read('options of openPlugin', openOptions, options);
  const { id, config = {}, env = {}, context: given = {} } = options;
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  // The caller trusts the plugin: it is the code under test.
  const isolates = await openIsolates({ log, weaklyFenced: 'all' });
  const environment = (name: string) => env[name];
  try {
    const { plugins, problems } = await loadSource({ name: directory, pins: [] }, { directory, hostPlugins: [], isolates });
    const found = id === undefined ? plugins[0] : plugins.find((plugin) => plugin.id === id);
    if (!found) throw problems[0] ?? failure('PLUGIN_NOT_FOUND', { plugin: id ?? directory, known: plugins.map((plugin) => plugin.id).join(', ') });
    const instance = await startInstance(found, { config, configVersion: 1 }, { environment, log });
    const registry = createRegistry([instance.plugin]);
    const parts = { config: instance.config, store: storeInMemory(), sent: [] as OpenedPlugin['sent'], notes: [] as string[] };
    const close = async () => {
      await stopInstance(instance, log);
      await isolates[Symbol.asyncDispose]();
    };
    return {
      plugin: found,
      sent: parts.sent,
      notes: parts.notes,
      async call(toolId, input = {}, more = {}) {
        const name = `${found.id}:${toolId}`;
        const tool = registry.get(name);
        if (!tool) throw failure('TOOL_NOT_FOUND', { tool: name, known: registry.tools.map((known) => known.id).join(', ') });
        const problems = await tool.problemsOf(input);
        if (problems.length > 0) throw failure('TOOL_ARGUMENTS_INVALID', { tool: name, problems: problems.join('; ') });
        const variables = Object.fromEntries(tool.environment.flatMap((variable) => (env[variable] === undefined ? [] : [[variable, env[variable]]])));
        return tool.execute(tool.accept(input), contextOf({ ...parts, env: variables }, { ...given, ...more }));
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await isolates[Symbol.asyncDispose]();
    throw error;
  }
}

type Parts = Pick<ToolContext, 'config' | 'store' | 'env'> & Pick<OpenedPlugin, 'sent' | 'notes'>;

function contextOf({ sent, notes, ...parts }: Parts, { sandbox, ...given }: Partial<ToolContext>): ToolContext {
  const absent = (what: string) => () => Promise.reject(new Error(`${what} does not exist in a test; pass it in the context`));
  const context: ToolContext = {
    conversationId: 'conversation-1',
    userId: 'user-1',
    tenantId: 'tenant-1',
    agentId: 'agent-1',
    turnId: 'turn-1',
    callId: `call-${randomUUID()}`,
    signal: new AbortController().signal,
    logger: { info: () => undefined, warn: () => undefined },
    heartbeat: () => undefined,
    sandbox: {
      handle: absent('the sandbox'),
      exec: absent('the sandbox'),
      runCode: absent('the sandbox'),
      callServer: absent('the sandbox'),
      start: absent('the sandbox'),
      runTool: (run) => runHere(run, context),
      ...sandbox,
    },
    files: { put: absent('the sandbox'), get: absent('the sandbox') },
    fetch: absent('the network'),
    send: async (part) => void sent.push(part),
    message: async () => undefined,
    note: async (text) => void notes.push(text),
    ...parts,
    ...given,
  };
  return context;
}

/** The process of the test runs the code that a worker runs in the sandbox. */
async function runHere({ request: { name, code, call }, onTold, ask }: SandboxedRun, { send, note, sandbox, signal }: ToolContext): Promise<CommandResult> {
  const module: { exports: { run?: (call: JsonObject, line: object, signal: AbortSignal) => Promise<object> } } = { exports: {} };
  compileFunction(code, ['module', 'exports', 'require'], { filename: `${name}.js` })(module, module.exports, createRequire(import.meta.url));
  let number = 0;
  const tell = (message: object) => onTold(Buffer.from(`${JSON.stringify(message)}\n`));
  const line = {
    ask: (what: string, args: Json[]) =>
      ask({ what, args: JSON.parse(JSON.stringify(args)) as Json[], number: ++number, repeated: false, send, note, ...sandbox }),
    tell: (what: string, text: string) => tell({ type: 'tell', call: 0, what, text }),
  };
  tell((await module.exports.run?.(call, line, signal)) ?? {});
  const nothing = { text: '', totalBytes: 0, truncated: false, path: '' };
  return { execId: name, status: 'exited', exitCode: 0, stdout: nothing, stderr: nothing, durationMs: 0 };
}

/** Keeps the scopes separate; ignores `ttlMs`. */
function storeInMemory(): PluginStore {
  const entries = new Map<string, { value: Json; version: number }>();
  let writes = 0;
  const placeOf = (scope: string, key: string) => `${scope} ${key}`;
  return {
    get: async (key, scope = 'conversation-user') => entries.get(placeOf(scope, key))?.value,
    entry: async (key, scope = 'conversation-user') => entries.get(placeOf(scope, key)),
    async set(key, value, { scope = 'conversation-user', ifVersion } = {}) {
      const place = placeOf(scope, key);
      const before = entries.get(place);
      if (ifVersion !== undefined && ifVersion !== (before?.version ?? 0)) return 'conflict';
      writes += 1;
      entries.set(place, { value: structuredClone(value), version: writes });
      return before ? 'updated' : 'created';
    },
    delete: async (key, scope = 'conversation-user') => entries.delete(placeOf(scope, key)),
    async list(prefix = '', scope = 'conversation-user') {
      const start = placeOf(scope, prefix);
      const places = [...entries.keys()].filter((place) => place.startsWith(start));
      return places.map((place) => place.slice(scope.length + 1)).toSorted();
    },
  };
}
