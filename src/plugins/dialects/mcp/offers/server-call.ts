import type { z } from 'zod';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import type { Tool, ToolContext, ToolResult } from '../../../api/define-plugin.ts';

/** Whether the server can make a call a task, or has to. */
export type TaskUse = 'optional' | 'required';

/** How a tool asks a server, over any kind of connection. `name`: whose time limit counts. */
export interface ServerCall {
  name: string;
  task?: TaskUse;
  /** The server may end its request to ask for input. */
  inRounds?: true;
  run: (input: JsonObject, ask: (request: ServerRequest, task?: TaskUse) => Promise<JsonObject>, context: ToolContext) => Promise<ToolResult>;
}

/** A tool that sends other requests than calls of a tool. */
export interface OfferedTool {
  tool: Tool;
  run: ServerCall['run'];
}
/** Makes a tool that only reads. */
export type Reading = (id: string, description: string, parameters: z.ZodType) => Tool;
