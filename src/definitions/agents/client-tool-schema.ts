import { z } from 'zod';
import { duration } from '../../common/duration.ts';
import { CLIENT_TOOL_NAME, type ClientTools } from '../../contracts/client-tool.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';

const jsonSchema = z.record(z.string(), z.json());

const clientTool = z.strictObject({
  description: z.string().min(1).describe('What it does. The model reads this.'),
  parameters: jsonSchema
    .refine((schema) => schema['type'] === 'object', 'has to be the JSON Schema of an object, with type: object')
    .default({ type: 'object', properties: {} })
    .describe('JSON Schema of the arguments, an object. Default: no arguments.'),
  output: jsonSchema.optional().describe('JSON Schema of the result. Default: any JSON value.'),
  timeout: duration.default(600_000).describe('How long a result is waited for. 0 waits for ever. Default 10m.'),
  otherwise: z
    .enum(['unavailable', 'fail'])
    .default('unavailable')
    .describe('unavailable: the model is told that no result came. fail: the turn fails. Default unavailable.'),
  requireApproval: z.boolean().default(false).describe('Whether a person has to allow each call. Rules of the agent come first. Default false.'),
});

/** Tools that clients run, as agents and requests declare them: durations are texts such as `30s` or milliseconds. */
export const clientToolsSchema = z.record(z.string().regex(CLIENT_TOOL_NAME, 'has to be a letter, then letters, digits, - and _, 64 at most'), clientTool);

/** What was declared, as conversations have it. */
export function toClientTools(declared: z.output<typeof clientToolsSchema>): ClientTools {
  return Object.fromEntries(Object.entries(declared).map(([name, { timeout: timeoutMs, ...tool }]) => [name, { ...withoutUndefined(tool), timeoutMs }]));
}
