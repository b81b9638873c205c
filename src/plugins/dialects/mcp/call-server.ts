import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { inTime } from '../../../common/in-time.ts';
import type { McpLimits, Sampling } from '../../../contracts/mcp/server.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { ToolContext, ToolResult } from '../../api/define-plugin.ts';
import { limitOf } from './call-limits.ts';
import { messageOf } from './http-words.ts';
import type { Session } from './open-session.ts';
import { readQuestion } from './questions/read-question.ts';
import type { RunServerTool, ServerCall } from './server-tools.ts';

export interface CallerParts {
  name: string;
  limits: McpLimits & { sampling?: Sampling };
  /** The connection for a call, or the promise of the next one. */
  session: (context: ToolContext) => Session | Promise<Session>;
  /** The last report about the server. */
  lastAlert: () => string | undefined;
}

/** How long a call waits for a server that is being started again. */
const PATIENCE_MS = 20_000;
/** Most pages that a server may require for one call. */
const MOST_PAGES = 5;
const CONNECTION_CLOSED = -32_000;
/** Messages of `fetch` for a missing or incomplete answer. */
const NETWORK_FAILED = new Set(['fetch failed', 'terminated']);
/** Codes of a request that was never sent: no process listens at the address, or the host cannot be reached. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** What is known about a call that failed. `answered`: the server reported the failure itself, or this worker ended the call. */
type Fate = 'answered' | 'forgotten' | 'unmade' | 'unknown';
const WHY = { forgotten: 'it has forgotten the session', unmade: 'it cannot be reached', unknown: 'it ended during a call' };

/** Makes the functions of tools that call a server. Their errors say whether the call was made. */
export function createCaller({ name, limits, session, lastAlert }: CallerParts): RunServerTool {
  const asks = { mayAsk: true as const, ...(limits.sampling && { mayAskModel: true as const }) };
  return (tool) => ({ isolation: 'host', ...asks, execute: (input, context) => call(tool, input, context, false) });

  async function call(tool: ServerCall, input: JsonObject, context: ToolContext, isSecond: boolean): Promise<ToolResult> {
    const current = await soon(context);
    try {
      return tool.result(
        await current.call(tool.request(input), {
          signal: context.signal,
          timeoutMs: limitOf(limits, tool.name),
          onProgress: (line) => context.heartbeat(line),
          askPerson: context.askPerson,
          model: context.model,
        }),
      );
    } catch (error) {
      if (error instanceof UrlElicitationRequiredError && !isSecond && (await opensPages(name, error, context))) return call(tool, input, context, true);
      const fate = fateOf(error);
      if (fate === 'answered') throw error instanceof StreamableHTTPError ? new Error(messageOf(error), { cause: error }) : error;
      await current.close(WHY[fate]);
      // The server did not read the call, so it is safe to repeat it.
      if (fate !== 'unknown' && !isSecond) return call(tool, input, context, true);
      const isMade = fate === 'unknown';
      const problem = isMade
        ? 'ended during this call, so it is not known whether the call took effect; the server is started again'
        : `did not accept this call: ${WHY[fate]}`;
      throw new Error(`the MCP server ${name} ${problem}`, { cause: error });
    }
  }

  function soon(context: ToolContext): Promise<Session> {
    const late = () => new Error(`the MCP server ${name} is not available, and the call was not made. ${lastAlert() ?? 'It has not been reached yet'}`);
    return inTime(session(context), PATIENCE_MS, late, context.signal);
  }
}

/** A server may refuse a call until a person has opened pages of it. True when a person has said so of all. */
async function opensPages(name: string, { elicitations }: UrlElicitationRequiredError, { askPerson, signal }: ToolContext): Promise<boolean> {
  if (!askPerson || elicitations.length === 0 || elicitations.length > MOST_PAGES) return false;
  for (const asked of elicitations) if ((await askPerson(readQuestion(name, asked), signal)).action !== 'accept') return false;
  return true;
}

function fateOf(error: unknown): Fate {
  if (error instanceof StreamableHTTPError) return isSessionGone(error) ? 'forgotten' : 'answered';
  if (error instanceof McpError) return error.code === CONNECTION_CLOSED ? 'unknown' : 'answered';
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  if (message === undefined || !NETWORK_FAILED.has(message)) return 'answered';
  return UNSENT.has(cause?.code ?? '') ? 'unmade' : 'unknown';
}

/** 404 as the protocol defines it, or 400 as many servers answer. */
function isSessionGone({ code, message }: StreamableHTTPError): boolean {
  return code === 404 || (code === 400 && /session/i.test(message));
}
