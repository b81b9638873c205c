import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { FencedIsolation, Permissions, ToolAnnotations, Visibility } from '../../api/define-plugin.ts';
import type { ToolParameters } from './parameters.ts';

/** The fields of a tool besides its parameters. Fields that are not listed here are kept as the tool's metadata. */
export interface ToolMetadata {
  /** Default `visible`. */
  visibility?: Visibility;
  /** Default 60 000. */
  timeoutMs?: number;
  /** The conversations in which it is offered. Conversations of Longshore have one user each, so they are private. */
  chatScope?: 'all' | 'group' | 'private';
  /** Ids of the conversations in which it is offered. Default: all. */
  allowedSession?: string[];
  annotations?: ToolAnnotations;
  permissions?: Permissions;
  /** Default `compartment`; `container` runs the handler in the conversation's sandbox. */
  isolation?: FencedIsolation;
  requireApproval?: boolean;
  [name: string]: unknown;
}

export interface ToolOptions extends ToolMetadata {
  /** Older name of `briefDescription`. */
  description?: string;
  /** One line from which a model judges whether it needs the tool. */
  briefDescription?: string;
  detailedDescription?: string;
  parameters?: ToolParameters;
}

export interface ActionOptions extends ToolMetadata {
  description?: string;
  /** Descriptions by name. All these parameters are optional texts. */
  actionParameters?: Record<string, string>;
  activationType?: string;
  activationKeywords?: string[];
}

export interface Declaration {
  name: string;
  options: ToolOptions;
  /** Name of the method. */
  method: string | symbol;
  legacy: boolean;
}

// oxlint-disable-next-line typescript/no-explicit-any -- each handler names the parameters that its own tool declares
type Handler = (this: any, parameters: any) => unknown;
type Decorate = (handler: Handler, context: ClassMethodDecoratorContext) => void;

const declared = new WeakMap<object, Declaration[]>();

/** The declarations for an object, by its own class and its base classes. */
export function declarationsOf(plugin: object): Declaration[] {
  return declared.get(plugin) ?? [];
}

/**
 * Makes a method of a plugin a tool. The method receives one object: the parameters by name, and values of the host: `stream_id`, `chat_id`, `group_id`,
 * `user_id`, `platform` and the `message` that started the turn.
 */
export function tool(name: string, options: ToolOptions = {}): Decorate {
  return declare(name, options, false);
}

/** The older way to declare a tool. Each use adds an alert to the plugin. */
export function action(name: string, options: ActionOptions = {}): Decorate {
  const { actionParameters = {}, activationType, activationKeywords, ...rest } = options;
  const parameters: Record<string, JsonObject> = Object.fromEntries(
    Object.entries(actionParameters).map(([parameter, description]): [string, JsonObject] => [parameter, { type: 'string', description }]),
  );
  const activation: Record<string, Json> = {
    ...(activationType !== undefined && { activationType }),
    ...(activationKeywords !== undefined && { activationKeywords }),
  };
  return declare(name, { ...rest, ...activation, legacyAction: true, parameters }, true);
}

/** In the original, this was once a component of its own kind. @throws always. */
export function workflowStep(name: string): Decorate {
  throw new Error(`@workflowStep("${name}") is no longer supported; declare a tool with @tool`);
}

function declare(name: string, options: ToolOptions, legacy: boolean): Decorate {
  return (_handler, context) => {
    const decorator = `@${legacy ? 'action' : 'tool'}("${name}")`;
    if (context?.kind !== 'method') throw new Error(`${decorator} does not stand before a method, or tsconfig.json has experimentalDecorators`);
    if (context.static || context.private) throw new Error(`${decorator} stands before a static or private method; tools are public methods of the plugin`);
    context.addInitializer(function initialize(this: unknown) {
      const plugin = this as object;
      // A method that overrides another one with the same declaration replaces it.
      const others = declarationsOf(plugin).filter((other) => other.method !== context.name || other.name !== name);
      declared.set(plugin, [...others, { name, options, method: context.name, legacy }]);
    });
  };
}
