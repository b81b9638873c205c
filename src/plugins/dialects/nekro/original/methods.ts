import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { OfferedWebhook } from '../../../../contracts/plugins/webhook.ts';
import { defineTool, type PluginDefinition, type Tool, type ToolContext, type ToolResult } from '../../../api/define-plugin.ts';
import { alertsOf } from '../../../api/plugin-details.ts';
import type { PluginConversation } from '../../../api/plugin.ts';
import { callPython } from '../../shared/python/call-python.ts';
import { commandsOf, commandsText } from '../../shared/python/commands.ts';
import { WEBHOOK_TIMEOUT_MS } from '../../shared/python/deliver-webhook.ts';
import { idOf } from '../../shared/python/id-of.ts';
import type { Reached } from '../../shared/python/reached.ts';
import { contentOfParts } from '../methods/message-parts.ts';
import { docOf, nameInCode, sectionOf } from '../methods/section.ts';
import { brokenBy } from '../methods/taken-names.ts';
import { askPlugin, HOOK_TIMEOUT_MS } from './ask-plugin.ts';
import { bringFiles, callerOf } from './caller.ts';
import type { Described, Method } from './described.ts';

const TIMEOUT_MS = 120_000;
/** The id of a tool. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,79}$/;

/** What the host knows of the plugin: its methods, and its hooks. */
export function partsOf(id: string, described: Described, reached: Reached): Pick<PluginDefinition, 'tools'> & Partial<PluginDefinition> {
  const methods = described.tools.filter(({ name }) => problemOf(name) === undefined);
  const asks = described.injects || described.collects;
  const ask = (conversation: PluginConversation) =>
    asks ? askPlugin(reached, conversation, described.setsTimers) : Promise.resolve({ text: '', methods: null });
  return {
    tools: [
      ...methods.map((method) => toolOf(method, described, reached)),
      ...commandsOf(described.commands, reached, (context) => callerOf(context, context.callId, { ...described, ...reached })),
      ...described.webhooks.map((webhook) => webhookOf(webhook, reached)),
    ],
    alerts: alertsOf(warningsAbout(id, described)),
    hookTimeoutMs: HOOK_TIMEOUT_MS,
    promptText: async (conversation) => {
      const texts = [textOf(id, described, methods, conversation, await ask(conversation)), commandsText(described.commands)];
      return texts.filter((text) => text !== '').join('\n\n');
    },
    ...(described.collects && { selectTools: async (conversation: PluginConversation) => (await ask(conversation)).methods ?? undefined }),
  };
}

function toolOf({ name, title, description, doc, kind, parameters }: Method, { readsFiles, setsTimers }: Described, reached: Reached): Tool {
  const execute = async (input: JsonObject, context: ToolContext): Promise<ToolResult> => {
    const known = await callerOf(context, context.callId, { ...reached, setsTimers });
    const caller = { ...known, ...(readsFiles && { files: await bringFiles(input, context) }) };
    const resultOf = async (value: unknown): Promise<ToolResult> =>
      kind === 'multimodal_agent' ? { content: await contentOfParts(value, context.fetch) } : (value as ToolResult);
    return callPython({ reached, tool: name, timeoutMs: TIMEOUT_MS, caller, resultOf }, input, context);
  };
  const tool = defineTool({
    id: name,
    description: doc || description || title,
    parameters,
    kind,
    timeoutMs: TIMEOUT_MS,
    visibility: 'hidden',
    annotations: { title },
    ...(description !== '' && { brief: description }),
    execute,
  });
  return { ...tool, isolation: 'own', ownSandbox: reached.own };
}

/** A tool that nothing calls: so an agent has the plugin when it names it, and the plugin may send to the agent's conversations. */
function webhookOf(webhook: OfferedWebhook, { own }: Reached): Tool {
  const { endpoint, name, description } = webhook;
  const tool = defineTool({
    id: idOf(`webhook.${endpoint}`),
    description: `Called by an outside system: ${description || name || endpoint}`,
    parameters: { type: 'object', additionalProperties: false },
    visibility: 'hidden',
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    execute: () => Promise.reject(new Error('outside systems call it, and nothing else')),
  });
  return { ...tool, isolation: 'own', ownSandbox: own, webhook };
}

function textOf(
  id: string,
  described: Described,
  all: Method[],
  { conversationId }: PluginConversation,
  { text, methods: chosen }: { text: string; methods: string[] | null },
): string {
  const { name, sleepBrief, allowSleep } = described;
  const offered = all.filter((method) => chosen === null || chosen.includes(method.name));
  const sleeps = allowSleep && sleepBrief.trim() !== '' && offered.length > 0;
  // Methods of Nekro Agent may take the key of the conversation from the model, which knows it there.
  const key = offered.some(({ names }) => names.includes('chat_key')) ? `chat_key of this conversation: ${JSON.stringify(conversationId)}` : '';
  const told = [sleeps ? sleepBrief : text, key].filter((part) => part.trim() !== '').join('\n\n');
  const methods = offered.map(({ name: method, kind, names, parameters, doc, description }) =>
    docOf(nameInCode(id, method).name, kind, { names, parameters }, doc || description),
  );
  return sectionOf({ name, told, methods, sleeps });
}

/** Why code cannot call a method of this name. */
function problemOf(name: string): string | undefined {
  return NAME.test(name) ? brokenBy(name) : 'only letters, digits and _ can be used, 80 at most, and no digit comes first';
}

/** What of the plugin does not work here. */
function warningsAbout(id: string, { tools, commands, webhooks, others, absent }: Described): { level: 'warning'; text: string }[] {
  const kinds = [...new Set(others.map(({ type }) => type))];
  const namesOf = (kind: string) => others.flatMap(({ type, name }) => (type === kind ? [name] : [])).join(', ');
  const texts = [
    ...(tools.length + commands.length + webhooks.length === 0 ? ['It has no methods, no commands and no webhooks, so agents have no use for it.'] : []),
    ...tools.flatMap(({ name, doc }) => {
      const problem = problemOf(name);
      if (problem !== undefined) return [`the method "${name}" is left out, since code cannot call it: ${problem}`];
      const { alert } = nameInCode(id, name);
      return [
        ...(alert === undefined ? [] : [alert]),
        ...(doc === '' ? [`the method "${name}" has no doc comment, so the model is told little about it`] : []),
      ];
    }),
    ...kinds.map((kind) => cutMiddle(`Its functions of the kind ${kind} are not run, only its methods, commands and webhooks are: ${namesOf(kind)}`, 900)),
    ...absent.map(({ name, refusal }) => `It imports ${name}, which is refused when it is used: ${refusal}`),
  ];
  return texts.map((text) => ({ level: 'warning', text }));
}
