import { setTimeout as sleep } from 'node:timers/promises';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpLimits } from '../../contracts/agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { ToolContext, ToolResult } from '../define-plugin.ts';
import { limitOf } from './call-limits.ts';
import type { Session } from './open-session.ts';
import { resultOf } from './server-result.ts';
import type { RunServerTool } from './server-tools.ts';

export interface CallerParts {
  name: string;
  limits: McpLimits;
  /** The connection, or the promise of the next one. */
  session: () => Session | Promise<Session>;
  /** What was last said of the server. */
  lastAlert: () => string | undefined;
}

/** How long a call waits for a server that is being started again. */
const PATIENCE_MS = 20_000;
const SESSION_GONE = 404;
const CONNECTION_CLOSED = -32_000;

/** Makes the functions of tools that call a server. An error says whether the call was made. */
export function createCaller({ name, limits, session, lastAlert }: CallerParts): RunServerTool {
  return (tool) => ({ isolation: 'host', execute: (input, context) => call(tool, input, context, false) });

  async function call(tool: string, input: JsonObject, context: ToolContext, isSecond: boolean): Promise<ToolResult> {
    const current = await soon(context.signal);
    try {
      return resultOf(
        await current.call(tool, input, { signal: context.signal, timeoutMs: limitOf(limits, tool), onProgress: (line) => context.heartbeat(line) }),
      );
    } catch (error) {
      if (error instanceof StreamableHTTPError && error.code === SESSION_GONE) {
        await current.close('it has forgotten the session');
        // It refused the call unread, so that doing it again is doing it once.
        if (!isSecond) return call(tool, input, context, true);
      }
      if (!(error instanceof McpError) || error.code !== CONNECTION_CLOSED) throw error;
      const problem = `the MCP server ${name} ended in the midst of this call, so nobody knows whether it took effect; it is started again`;
      throw new Error(problem, { cause: error });
    }
  }

  async function soon(signal: AbortSignal): Promise<Session> {
    const enough = new AbortController();
    const late = sleep(PATIENCE_MS, undefined, { signal: AbortSignal.any([signal, enough.signal]) }).then(() => {
      throw new Error(`the MCP server ${name} is not there, and the call was not made. ${lastAlert() ?? 'It was not reached yet'}`);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([session(), late]);
    } finally {
      enough.abort();
    }
  }
}
