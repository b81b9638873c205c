import type { JsonObject } from '../../../contracts/json.ts';
import type { PluginDefinition, Tool } from '../../api/define-plugin.ts';
import { identityFieldsOf, identityOf } from '../../api/identity-fields.ts';
import type { PluginConversation, PluginDetails } from '../../api/plugin.ts';
import type { ToolContext } from '../../api/tool-context.ts';
import { createMaiBotContext, type MaiBotContext, type MaiBotState } from './maibot-context.ts';
import { declarationsOf, type Declaration, type ToolOptions } from './declarations.ts';
import { describeParameters, schemaOf, withArgumentDefaults } from './parameters.ts';
import { handlerResultOf } from './results.ts';

const HOOKS = ['onLoad', 'onUnload', 'onConfigUpdate'] as const;
/** Arguments that the host sets in each call. They replace values of the model with these names. */
const SAID_BY_HOST = ['stream_id', 'chat_id', 'group_id', 'user_id', 'platform'];

/** A plugin that is an object of a class: what it says of itself, and its hooks. */
interface ClassPlugin extends Pick<
  Partial<PluginDefinition>,
  'id' | 'version' | 'description' | 'brief' | 'dependencies' | 'requireApproval' | 'environment' | 'configSchema'
> {
  ctx: MaiBotContext;
  onLoad(): Promise<void> | void;
  onUnload(): Promise<void> | void;
  onConfigUpdate(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void> | void;
}

/** A canonical plugin that is given a function which returns its current call. */
interface AttachedPlugin extends Partial<PluginDetails> {
  tools: Partial<Tool>[];
  attach(current: MaiBotState['current']): void;
}

/**
 * The canonical form of a class plugin.
 * @throws an Error that names what is missing or wrong.
 */
export function toPlugin(plugin: ClassPlugin): AttachedPlugin {
  const missing = HOOKS.filter((hook) => typeof plugin[hook] !== 'function');
  if (missing.length > 0) throw new Error(`it has no ${missing.join(', no ')}; a MaiBot plugin has ${HOOKS.join(', ')}, even where they do nothing`);
  const state: MaiBotState = { host: undefined, config: {}, current: () => undefined };
  plugin.ctx = createMaiBotContext(state);
  const declarations = declarationsOf(plugin);
  declarations.forEach(checkScopes);
  const scoped = declarations.some(({ options }) => options.chatScope !== undefined || options.allowedSession !== undefined);
  return {
    dialect: 'maibot',
    ...describedBy(plugin),
    alerts: declarations.flatMap(warningsAbout).map((text) => ({ level: 'warning', text, at: '' })),
    tools: declarations.map((declaration) => toolOf(plugin, declaration)),
    attach(current) {
      state.current = current;
    },
    async load(host) {
      Object.assign(state, { host, config: host.config });
      await plugin.onLoad();
    },
    unload: async () => plugin.onUnload(),
    async updateConfig(scope, data, version) {
      const before = state.config;
      if (scope === 'self') state.config = data;
      try {
        await plugin.onConfigUpdate(scope, data, version);
      } catch (error) {
        state.config = before;
        throw error;
      }
    },
    ...(scoped && { selectTools: async (conversation: PluginConversation) => declarations.filter(isOfferedIn(conversation)).map(({ name }) => name) }),
  };
}

/** The fields that the class sets; others are omitted. */
function describedBy(plugin: ClassPlugin): object {
  const { id, version, description, brief, dependencies, requireApproval, environment, configSchema } = plugin;
  const said = { id, version, description, brief, dependencies, requireApproval, environment, configSchema };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

function warningsAbout({ name, method, options, legacy }: Declaration): string[] {
  const deprecated = `"${name}" is declared with @action, which is deprecated; declare ${String(method)} with @tool, which knows types of parameters.`;
  const undescribed = `"${name}" has no description, so a model has to judge it by its name.`;
  return [...(legacy ? [deprecated] : []), ...(isDescribed(options) ? [] : [undescribed])];
}

function isDescribed(options: ToolOptions): boolean {
  return [options.briefDescription, options.description, options.detailedDescription].some((text) => text !== undefined && text.trim() !== '');
}

/** A conversation has one user, so it is private. */
function isOfferedIn({ conversationId }: PluginConversation): (declaration: Declaration) => boolean {
  return ({ options: { chatScope = 'all', allowedSession } }) => chatScope !== 'group' && (allowedSession?.includes(conversationId) ?? true);
}

function toolOf(plugin: ClassPlugin, { name, options, method }: Declaration): Partial<Tool> {
  const { visibility = 'visible', timeoutMs = 60_000, annotations = {}, permissions = {}, isolation = 'compartment', requireApproval } = options;
  const brief = options.briefDescription || options.description || (isDescribed(options) ? undefined : name);
  const parameters = parametersOf(name, options);
  return {
    id: name,
    description: [brief, options.detailedDescription, describeParameters(parameters, identityFieldsOf(parameters))].filter(Boolean).join('\n\n'),
    parameters,
    kind: 'tool',
    annotations,
    timeoutMs,
    isolation,
    permissions,
    visibility,
    ...(brief !== undefined && { brief }),
    ...(requireApproval !== undefined && { requireApproval }),
    metadata: metadataOf(options),
    async execute(input, context) {
      const handler = plugin[method as keyof ClassPlugin] as unknown as (given: JsonObject) => unknown;
      return handlerResultOf(await handler.call(plugin, await argumentsOf(parameters, input, context)));
    },
  };
}

const CHAT_SCOPES: unknown[] = [undefined, 'all', 'group', 'private'];

/** A misspelled value would offer the tool in the wrong conversations. */
function checkScopes({ name, options: { chatScope, allowedSession = [] } }: Declaration): void {
  if (!CHAT_SCOPES.includes(chatScope)) throw new Error(`tool "${name}" has the chatScope ${JSON.stringify(chatScope)}; known are all, group and private`);
  if (!Array.isArray(allowedSession) || !allowedSession.every((id) => typeof id === 'string')) {
    throw new Error(`tool "${name}" has an allowedSession that is no list of conversations' ids`);
  }
}

function parametersOf(name: string, { parameters }: ToolOptions): JsonObject {
  try {
    return schemaOf(parameters);
  } catch (error) {
    throw new Error(`tool "${name}": ${(error as Error).message}`, { cause: error });
  }
}

/** A tool may have its own parameter named `message`. Ids of the host always replace parameters of the same name. */
async function argumentsOf(schema: JsonObject, input: JsonObject, context: ToolContext): Promise<JsonObject> {
  const own = withArgumentDefaults(schema, input);
  const declaresMessage = Object.hasOwn((schema['properties'] ?? {}) as JsonObject, 'message');
  const message = declaresMessage ? {} : { message: { ...(await context.message()) } };
  return { ...own, ...message, ...identityOf([...identityFieldsOf(schema), ...SAID_BY_HOST], context) };
}

const READ = new Set(['description', 'briefDescription', 'detailedDescription', 'parameters', 'annotations', 'permissions', 'requireApproval']);

function metadataOf(options: ToolOptions): JsonObject {
  return JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(options).filter(([name]) => !READ.has(name))))) as JsonObject;
}
