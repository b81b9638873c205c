import { defineTool, type Tool, type ToolResult } from '../../../api/define-plugin.ts';
import { callPython } from '../../shared/python/call-python.ts';
import type { Reached } from '../../shared/python/python-plugin.ts';
import { callerOf } from './caller-of.ts';
import type { Described } from './described.ts';
import { idOf } from './id-of.ts';

/** Longer messages are for the model. */
const LONGEST_MESSAGE = 4_000;

/** The commands of a plugin as tools: a message calls one when it fits its parameters. The check has a time limit, as that of any tool's arguments. */
export function commandsOf({ commands }: Described, { own, server }: Reached): Tool[] {
  return commands.flatMap(({ name, description, pattern, forOperators, timeoutMs }): Tool[] => {
    if (pattern === null) return [];
    const text = { type: 'string', maxLength: LONGEST_MESSAGE, pattern, description: 'The message' };
    const tool = defineTool({
      id: idOf(`command.${name}`),
      description,
      parameters: { type: 'object', properties: { text }, required: ['text'], additionalProperties: false },
      timeoutMs,
      visibility: 'hidden',
      ...(forOperators && { requireApproval: true }),
      execute: (input, context) =>
        callPython({ server: server(), tool: `command:${name}`, timeoutMs, caller: callerOf(context), resultOf, keepsTexts: true }, input, context),
    });
    return [{ ...tool, isolation: 'own', ownSandbox: own, isCommand: true }];
  });
}

/** `[ok, text, …]`. What it has sent is the reply; the text, which MaiBot only logs then, is the reply of a command that sends nothing. */
function resultOf(value: unknown, texts: string[]): ToolResult {
  const [ok, said] = Array.isArray(value) ? (value as unknown[]) : [true, value];
  const text = texts.length > 0 ? texts.join('\n') : typeof said === 'string' ? said : '';
  return { content: [{ type: 'text', text: text.trim() === '' ? '(no answer)' : text }], isError: ok === false };
}
