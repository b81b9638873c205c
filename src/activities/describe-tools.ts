import type { Json, JsonObject } from '../contracts/json.ts';
import type { RegisteredTool } from '../plugins/registry.ts';
import { MAX_VALUE_BYTES } from './method-answer.ts';

/** What code asks for to learn which tools there are; no plugin can have this id. */
export const LIST_TOOLS = 'longshore:tools';

/** The tools as code is told of them: enough for functions with signatures, types and documentation. */
export function describeTools(tools: RegisteredTool[]): Json {
  const whole = tools.map(({ id, description, parameters, kind, resultSchema: result }): JsonObject => {
    return { id, description, parameters, kind, ...(result && { result }) };
  });
  if (Buffer.byteLength(JSON.stringify(whole)) <= MAX_VALUE_BYTES) return whole;
  // Too many to be told in full: their functions take any named argument.
  return tools.map(({ id, kind }) => ({ id, kind }));
}
