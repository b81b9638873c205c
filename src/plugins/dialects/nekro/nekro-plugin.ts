import type { PluginAlert, PluginConversation, PluginHost } from '../../api/plugin.ts';
import type { FencedIsolation, Permissions, Tool, ToolAnnotations } from '../../api/define-plugin.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { PluginStore } from '../../api/tool-context.ts';
import { IDLE_OPTIONS, refuseAbsentOfPlugin } from './absent.ts';
import { createAgentContext, createStore, message, type AgentCtx, type NekroStore } from './agent-context.ts';
import { jsonOf } from './json-value.ts';
import { contentOfParts } from './methods/message-parts.ts';
import type { MethodSource } from './reader/method-source.ts';
import { parametersOfText } from './parameters-of-text.ts';
import { docOf, nameInCode, sectionOf } from './methods/section.ts';
import { signatureOf } from './methods/signature.ts';
import { createCurrentCall } from './current-call.ts';
import { brokenBy } from './methods/taken-names.ts';

export { message, type AgentCtx, type NekroStore };

/**
 * What happens with a method's result. TOOL: the calling code receives it. AGENT and MULTIMODAL_AGENT: the code ends, and the model continues with the result.
 * BEHAVIOR: it is noted.
 */
export const SandboxMethodType = { TOOL: 'tool', AGENT: 'agent', BEHAVIOR: 'behavior', MULTIMODAL_AGENT: 'multimodal_agent' } as const;
export type SandboxMethodType = (typeof SandboxMethodType)[keyof typeof SandboxMethodType];

export interface NekroOptions {
  /** Shown to people. */
  name: string;
  /** Letters, digits and `_`. In lower case and with `-` for `_`, it is the plugin's id. */
  moduleName: string;
  description: string;
  version: string;
  author: string;
  url?: string;
  /** What its methods may reach. The clock and random numbers are granted unless they are false here. */
  permissions?: Permissions;
  environment?: { name: string; required: boolean }[];
  configSchema?: JsonObject;
  requireApproval?: boolean;
  /** `hidden` (the default): code in the sandbox calls the methods, and the instructions describe them. `visible`: the model may call them as well. */
  visibility?: 'hidden' | 'visible';
  /** Replaces the methods' doc comments in the instructions. Code or the model reads the doc comments when it needs them. */
  sleepBrief?: string;
  /** False: the methods are described in full even with a `sleepBrief`. */
  allowSleep?: boolean;
}

export interface MethodOptions {
  /** Default 60 000. */
  timeoutMs?: number;
  annotations?: ToolAnnotations;
  /** Default `compartment`; `container` runs the method in the conversation's sandbox. */
  isolation?: FencedIsolation;
  requireApproval?: boolean;
}

export type SandboxMethod = (ctx: AgentCtx, ...args: never[]) => Promise<unknown>;
/** What a compartment passes to its hooks besides the conversation: a whole context, of which only the store is used. */
type Stored = { store: PluginStore };
type Conversation = Pick<AgentCtx, 'store' | 'chatKey' | 'fromChatKey' | 'userId' | 'fromUserId' | 'tenantId' | 'agentId'>;

const OPTIONS = new Set(
  'name moduleName description version author url permissions environment configSchema requireApproval visibility sleepBrief allowSleep'.split(' '),
);
const METHOD_OPTIONS = ['timeoutMs', 'annotations', 'isolation', 'requireApproval'];
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A plugin whose methods code in the sandbox calls by their bare names. It has the fields of a plugin, so that it can be a default export. */
export class NekroPlugin {
  readonly dialect = 'nekro';
  readonly id: string;
  readonly version: string;
  readonly description: string;
  readonly tools: Tool[] = [];
  readonly alerts: PluginAlert[] = [];
  /** Set where the model may call the methods too: one line that stands for all of them until one was found or called. */
  readonly brief: string | undefined;
  readonly environment: { name: string; required: boolean }[];
  readonly configSchema: JsonObject | undefined;
  readonly requireApproval: boolean | undefined;
  /** The store of the conversation whose method or hook runs. */
  readonly store: NekroStore;
  load?: (host: PluginHost) => Promise<void>;
  unload?: () => Promise<void>;
  selectTools?: (conversation: PluginConversation, context?: Stored) => Promise<string[] | undefined>;
  promptText: (conversation: PluginConversation, context?: Stored) => Promise<string>;
  readonly #options: NekroOptions;
  readonly #docs = new Map<string, string>();
  readonly #methods = new Map<unknown, string>();
  readonly #calls = createCurrentCall<Pick<AgentCtx, 'store'> & Partial<Pick<AgentCtx, 'config'>>>();
  #inject: ((ctx: Conversation) => Promise<string>) | undefined;

  constructor(options: NekroOptions) {
    const { moduleName, author, version, description } = options;
    for (const [field, value] of Object.entries({ moduleName, author })) {
      if (!NAME.test(value)) throw new Error(`${field} ${JSON.stringify(value)} is not usable; letters, digits and _ are, and no digit comes first`);
    }
    for (const name of Object.keys(options)) {
      if (OPTIONS.has(name)) continue;
      const idle = IDLE_OPTIONS[name];
      if (idle === undefined) throw new Error(`NekroPlugin has no option ${JSON.stringify(name)}; there are ${[...OPTIONS].join(', ')}`);
      this.alerts.push({ level: 'info', text: `the option ${name} changes nothing: ${idle}`, at: '' });
    }
    this.#options = options;
    this.brief = this.#sleeps() && options.visibility === 'visible' ? options.sleepBrief : undefined;
    this.id = moduleName.toLowerCase().replaceAll('_', '-').replace(/^-+/, '');
    this.version = version;
    this.description = description;
    this.environment = options.environment ?? [];
    this.configSchema = options.configSchema;
    this.requireApproval = options.requireApproval;
    const store = () => this.#calls.get('plugin.store').store;
    this.store = {
      get: async (entry) => store().get(entry),
      entry: async (entry) => store().entry(entry),
      set: async (entry) => store().set(entry),
      delete: async (entry) => store().delete(entry),
    };
    this.promptText = (conversation, context) => this.#describe({ ...conversation, ...(context && { store: context.store }) });
  }

  /** The configuration, while a method runs. */
  getConfig(): JsonObject {
    const { config } = this.#calls.get('plugin.getConfig');
    if (config === undefined) throw new Error('plugin.getConfig works only while a method of the plugin runs');
    return config;
  }

  /** Mounts an asynchronous function with the context as first parameter. Code calls it by the function's own name; `name` and `description` are for people. */
  mountSandboxMethod(kind: SandboxMethodType, name: string, description = '', options: MethodOptions = {}) {
    if (!Object.values(SandboxMethodType).includes(kind)) {
      throw new Error(`"${name}" is mounted as ${JSON.stringify(kind)}; there are SandboxMethodType.${Object.keys(SandboxMethodType).join(', .')}`);
    }
    const unknown = Object.keys(options).find((option) => !METHOD_OPTIONS.includes(option));
    if (unknown !== undefined) throw new Error(`"${name}" is mounted with the option ${JSON.stringify(unknown)}; there are ${METHOD_OPTIONS.join(', ')}`);
    return <Method extends SandboxMethod>(method: Method, given?: MethodSource | string): Method => {
      if (typeof method !== 'function') throw new Error(`what is mounted as "${name}" is no function; write async function name(ctx, …)`);
      const source = typeof given === 'object' ? given : this.readSource(method, given);
      const { id, names, parameters } = checkMethod(method, name, source);
      const { doc } = source;
      if (!doc) this.alerts.push({ level: 'warning', text: `the method "${id}" ${doc === undefined && source.isUnread ? UNREAD : UNDESCRIBED}`, at: '' });
      this.#docs.set(id, docOf(this.#nameInCode(id), kind, { names, parameters }, doc || description));
      this.#methods.set(method, id);
      this.tools.push({
        ...this.#shared(options),
        id,
        kind,
        parameters,
        description: doc || description || name,
        brief: description || undefined,
        annotations: { title: name, ...options.annotations },
        execute: async (input, context) => {
          const ctx = createAgentContext(context);
          const args = names.map((parameter) => input[parameter]);
          const result = await this.#calls.run(ctx, () => method(ctx, ...(args as never[])));
          return kind === 'multimodal_agent' ? { content: await contentOfParts(result, ctx.fetch) } : jsonOf(result);
        },
      });
      return method;
    };
  }

  /** What is known of a method whose function the bundler did not find where it was mounted. `doc` is the text that was given beside it. */
  protected readSource(method: SandboxMethod, doc?: string): MethodSource {
    return { parameters: parametersOfText(String(method)), isUnread: true, ...(doc !== undefined && { doc }) };
  }

  /** Runs when the plugin is loaded. */
  mountInitMethod = (init: (host: PluginHost) => Promise<void>): void => {
    this.load = functionOf('mountInitMethod', init);
  };

  /** Runs when the plugin is unloaded. */
  mountCleanupMethod = (cleanup: () => Promise<void>): void => {
    this.unload = functionOf('mountCleanupMethod', cleanup);
  };

  /** Chooses the methods of a conversation, as mounted functions or by their names; other methods cannot be called there. */
  mountCollectMethods = (collect: (ctx: Conversation) => Promise<(string | SandboxMethod)[]>): void => {
    functionOf('mountCollectMethods', collect);
    this.selectTools = async (conversation, context) => {
      const ctx = conversationOf({ ...conversation, ...(context && { store: context.store }) });
      const chosen = await this.#calls.run(ctx, () => collect(ctx));
      return chosen.map((method) => {
        const id = typeof method === 'string' ? method : (this.#methods.get(method) ?? method.name);
        if (!this.#docs.has(id)) throw new Error(`the method "${id}" was collected, but never mounted`);
        return id;
      });
    };
  };

  /** Adds a text to the instructions of each step. */
  mountPromptInject = (inject: (ctx: Conversation) => Promise<string>): void => {
    this.#inject = functionOf('mountPromptInject', inject);
  };

  /** Programs call a method whose name means something else by that of its plugin and its own. */
  #nameInCode(id: string): string {
    const { name, alert } = nameInCode(this.id, id);
    if (alert !== undefined) this.alerts.push({ level: 'warning', text: alert, at: '' });
    return name;
  }

  #shared({ timeoutMs = 60_000, isolation = 'compartment', requireApproval }: MethodOptions) {
    const { permissions, visibility = 'hidden' } = this.#options;
    return {
      timeoutMs,
      visibility: this.brief === undefined ? visibility : ('deferred' as const),
      requireApproval,
      permissions: { time: true, random: true, ...permissions },
      isolation,
      resultSchema: undefined,
      summarize: undefined,
    };
  }

  #sleeps(): boolean {
    const { sleepBrief = '', allowSleep = true } = this.#options;
    return allowSleep && sleepBrief.trim() !== '';
  }

  async #describe(conversation: PluginConversation): Promise<string> {
    const { name, visibility = 'hidden', sleepBrief } = this.#options;
    const chosen = (await this.selectTools?.(conversation)) ?? [...this.#docs.keys()];
    // Methods that the model calls itself are described like all its tools, or deferred behind the brief.
    const methods = visibility === 'hidden' ? chosen.map((id) => this.#docs.get(id) ?? '') : [];
    const sleeps = this.#sleeps() && methods.length > 0;
    return sectionOf({ name, told: sleeps ? sleepBrief : await this.#injected(conversationOf(conversation)), methods, sleeps });
  }

  /** The text of mountPromptInject. An error in it is logged: the methods are described without the text. */
  async #injected(conversation: Conversation): Promise<string | undefined> {
    try {
      return await this.#calls.run(conversation, async () => this.#inject?.(conversation));
    } catch (error) {
      console.warn(`the text of mountPromptInject is left out of the instructions: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }
}

const UNDESCRIBED = 'has no doc comment, so the model is told little about it';
const UNREAD =
  'is described without its comment and types, because its function is not in the file that mounts it, or is made when the plugin runs; mount it in its own file, or give the comment beside it: mountSandboxMethod(…)(method, "Adds. …")';

/** The original mounts with decorators, which are first called without a function. */
function functionOf<Mounted>(mount: string, given: Mounted): Mounted {
  if (typeof given === 'function') return given;
  throw new Error(`plugin.${mount} takes the function itself: plugin.${mount}(async (…) => { … })`);
}

refuseAbsentOfPlugin(NekroPlugin.prototype, ['mountSandboxMethod', 'mountInitMethod', 'mountCleanupMethod', 'mountCollectMethods', 'getConfig']);

/** @throws an Error that names the method, what is wrong with it and what to write. */
function checkMethod(method: SandboxMethod, title: string, { name: id = method.name, parameters }: MethodSource) {
  const at = `the method "${id || title}"`;
  if (!NAME.test(id)) throw new Error(`${at} has no usable name; code calls it by that, so write async function name(ctx, …)`);
  const by = brokenBy(id);
  if (by !== undefined) throw new Error(`${at} cannot be called by its name: ${by}. Give it another name`);
  if (Object.prototype.toString.call(method) !== '[object AsyncFunction]') {
    throw new Error(`${at} is not asynchronous; write async function ${id}(ctx, …)`);
  }
  return { id, ...signatureOf(id, parameters) };
}

function conversationOf({ conversationId, userId, tenantId, agentId, store = noStore() }: PluginConversation): Conversation {
  const ids = { chatKey: conversationId, fromChatKey: conversationId, userId, fromUserId: userId, tenantId, agentId };
  return { ...ids, store: createStore({ store, conversationId, userId }) };
}

/** Used where there is no store, for example in a test. */
function noStore(): PluginStore {
  const refuse = async () => {
    throw new Error('there is no store here');
  };
  return { get: refuse, entry: refuse, set: refuse, delete: refuse, list: refuse };
}
