import { z } from 'zod';
import type { JsonObject } from '../../../../contracts/json.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../../../api/define-plugin.ts';
import { callPython } from './call-python.ts';
import { idOf } from './id-of.ts';
import type { Reached } from './reached.ts';

/** What a plugin does with messages that match a pattern; none matches where the pattern is null. */
export const commandsSchema = z
  .array(
    z.object({
      name: z.string().min(1).max(200),
      description: z.string().max(20_000),
      timeoutMs: z.number().positive().max(86_400_000),
      /** How it is called, for people: the pattern as the plugin has it, or an example; shortened. */
      given: z.string().max(200),
      /** Beginnings of messages that call it too. */
      aliases: z.array(z.string().max(200)).max(50),
      /** As JSON Schema has patterns. */
      pattern: z.string().max(10_000).nullable(),
      forOperators: z.boolean(),
    }),
  )
  .max(200);

type Commands = z.infer<typeof commandsSchema>;

/** Longer messages are for the model. */
const LONGEST_MESSAGE = 4_000;

/** The commands of a plugin as tools: a message calls one when it fits its parameters. The check has a time limit, as that of any tool's arguments. */
export function commandsOf(commands: Commands, reached: Reached, callerOf: (context: ToolContext) => JsonObject | Promise<JsonObject>): Tool[] {
  return commands.flatMap(({ name, description, pattern, forOperators, timeoutMs }): Tool[] => {
    if (pattern === null) return [];
    const text = { type: 'string', maxLength: LONGEST_MESSAGE, pattern, description: 'The message' };
    const tool = defineTool({
      id: idOf(`command.${name}`),
      description: description.trim() || name,
      parameters: { type: 'object', properties: { text }, required: ['text'], additionalProperties: false },
      timeoutMs,
      visibility: 'hidden',
      ...(forOperators && { requireApproval: true }),
      execute: async (input, context) =>
        callPython({ reached, tool: `command:${name}`, timeoutMs, caller: await callerOf(context), resultOf, keepsTexts: true }, input, context),
    });
    return [{ ...tool, isolation: 'own', ownSandbox: reached.own, isCommand: true }];
  });
}

/** `[ok, text, …]`. What it has sent is the reply; the text is the reply of a command that sends nothing. */
function resultOf(value: unknown, texts: string[]): ToolResult {
  const [ok, said] = Array.isArray(value) ? (value as unknown[]) : [true, value];
  const text = texts.length > 0 ? texts.join('\n') : typeof said === 'string' ? said : '';
  return { content: [{ type: 'text', text: text.trim() === '' ? '(no answer)' : text }], isError: ok === false };
}

/** What the model of an agent is told of the commands: users may ask for them. Empty where there are none. */
export function commandsText(commands: Commands): string {
  const lines = commands.flatMap(({ name, description, given, aliases, pattern }) => {
    if (pattern === null) return [];
    const ways = [...(given === '' ? [] : [given]), ...aliases].map((way) => JSON.stringify(way)).join(' or ');
    return [`- ${name}: ${description} (${ways})`];
  });
  if (lines.length === 0) return '';
  return `The user can give these commands in messages of their own, which are answered without you. You cannot call them; name them where they help:\n${lines.join('\n')}`;
}
