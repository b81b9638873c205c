import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { inTime } from '../../../common/in-time.ts';
import type { McpLimits } from '../../../contracts/agent.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { ToolContext, ToolResult } from '../../api/define-plugin.ts';
import { limitOf } from './call-limits.ts';
import { messageOf } from './http-words.ts';
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
const CONNECTION_CLOSED = -32_000;
/** So `fetch` says that there is no answer, or no whole one. */
const NETWORK_FAILED = new Set(['fetch failed', 'terminated']);
/** Of a request that never left: nobody listens there, or nobody is there. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** What is certain of a call that failed. `answered`: the server has said so itself, or the call was ended from here. */
type Fate = 'answered' | 'forgotten' | 'unmade' | 'unknown';
const WHY = { forgotten: 'it has forgotten the session', unmade: 'it cannot be reached', unknown: 'it ended under a call' };

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
      const fate = fateOf(error);
      if (fate === 'answered') throw error instanceof StreamableHTTPError ? new Error(messageOf(error), { cause: error }) : error;
      await current.close(WHY[fate]);
      // It was not read, so that doing it again is doing it once.
      if (fate !== 'unknown' && !isSecond) return call(tool, input, context, true);
      const isMade = fate === 'unknown';
      const problem = isMade
        ? 'ended in the midst of this call, so nobody knows whether it took effect; it is started again'
        : `did not take this call: ${WHY[fate]}`;
      throw new Error(`the MCP server ${name} ${problem}`, { cause: error });
    }
  }

  function soon(signal: AbortSignal): Promise<Session> {
    const late = () => new Error(`the MCP server ${name} is not there, and the call was not made. ${lastAlert() ?? 'It was not reached yet'}`);
    return inTime(session(), PATIENCE_MS, late, signal);
  }
}

function fateOf(error: unknown): Fate {
  if (error instanceof StreamableHTTPError) return isSessionGone(error) ? 'forgotten' : 'answered';
  if (error instanceof McpError) return error.code === CONNECTION_CLOSED ? 'unknown' : 'answered';
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  if (message === undefined || !NETWORK_FAILED.has(message)) return 'answered';
  return UNSENT.has(cause?.code ?? '') ? 'unmade' : 'unknown';
}

/** As it should be said, and as many servers say it. */
function isSessionGone({ code, message }: StreamableHTTPError): boolean {
  return code === 404 || (code === 400 && /session/i.test(message));
}
