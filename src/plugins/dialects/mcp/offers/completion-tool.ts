import { CompleteResultSchema } from '@modelcontextprotocol/core';
import { z } from 'zod';
import { withoutUndefined } from '../../../../common/without-undefined.ts';
import type { Json, JsonObject } from '../../../../contracts/json.ts';
import type { ToolResult } from '../../../api/define-plugin.ts';
import type { OfferedTool, Reading } from './server-call.ts';

const parameters = z.strictObject({
  of: z.enum(['prompt', 'resource']).describe('Whether it is an argument of a prompt, or a variable of a template of addresses.'),
  name: z.string().min(1).max(8_000).describe('Name of the prompt, or the template, as they are listed.'),
  argument: z.string().min(1).max(200).describe('Name of the argument or variable.'),
  value: z.string().max(2_000).default('').describe('What is known of its value: how it begins.'),
  known: z.record(z.string(), z.string()).optional().describe('Values of other arguments, on which these may depend.'),
});

/** The tool with which a model finds values for arguments of prompts and of templates. */
export function completionTool(reading: Reading): OfferedTool {
  return {
    tool: reading('complete', 'Lists values that this server suggests for an argument of a prompt, or for a variable of a template of addresses.', parameters),
    run: async (input, ask) => valuesIn(await ask({ method: 'completion/complete', params: requestOf(input) })),
  };
}

function requestOf(input: JsonObject): JsonObject {
  const { of, name, argument, value, known } = parameters.parse(input);
  const ref = of === 'prompt' ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name };
  return { ref, argument: { name: argument, value }, ...(known && { context: { arguments: known } }) };
}

function valuesIn(given: JsonObject): ToolResult {
  const { values, total, hasMore } = CompleteResultSchema.parse(given).completion;
  return withoutUndefined({ values, total, hasMore }) as Json;
}
