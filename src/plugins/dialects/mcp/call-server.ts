import { SdkHttpError, UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import { inTime } from '../../../common/in-time.ts';
import type { McpLimits, Sampling } from '../../../contracts/mcp/server.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { ServerRequest } from '../../../sandbox/api/host-methods.ts';
import type { PluginStore, ToolContext } from '../../api/define-plugin.ts';
import { callAsTask, isTask } from './call-as-task.ts';
import { limitOf } from './call-limits.ts';
import { fateOf, type Fate } from './connection/fate-of.ts';
import { messageOf } from './connection/http-words.ts';
import { isWaiting, keptRounds } from './kept-rounds.ts';
import type { ServerCall, TaskUse } from './offers/server-call.ts';
import type { KeptRounds } from './connection/rounds.ts';
import type { Session } from './connection/open-session.ts';
import { readQuestion } from './questions/read-question.ts';
import type { RunServerTool } from './server-tools.ts';

export interface CallerParts {
  name: string;
  limits: McpLimits & { sampling?: Sampling };
  /** What the server is, as the agent's file describes it. */
  place: string;
  /** The connection for a call, or the promise of the next one. */
  session: (context: ToolContext) => Session | Promise<Session>;
  /** The last report about the server. */
  lastAlert: () => string | undefined;
}

/** How long a call waits for a server that is being started again. */
const PATIENCE_MS = 20_000;
/** Most pages that a server may require for one call. */
const MOST_PAGES = 5;
/** Times that a request about a task is sent, over a new connection each time. */
const MOST_ATTEMPTS = 10;
const CANCEL_MS = 5_000;

const WHY = { forgotten: 'it has forgotten the session', unmade: 'it cannot be reached', unknown: 'it ended during a call', broken: 'it broke off an answer' };

interface Sending {
  context: ToolContext;
  timeoutMs: number;
  rounds?: KeptRounds;
  /** Progress is not reported. */
  isQuiet?: boolean;
}

class Absent extends Error {}

class Unanswered extends Error {
  readonly fate: Exclude<Fate, 'answered'>;

  constructor(fate: Exclude<Fate, 'answered'>, cause: unknown) {
    super(WHY[fate], { cause });
    this.fate = fate;
  }
}

/** Makes the functions of tools that call a server. Their errors say whether the call was made. */
export function createCaller({ name, limits, place, session, lastAlert }: CallerParts): RunServerTool {
  const asks = { mayAsk: true as const, ...(limits.sampling && { mayAskModel: true as const }) };
  return (tool) => ({
    isolation: 'host',
    ...asks,
    ...((tool.task || tool.inRounds) && { mayGoOn: async (callId: string, store: PluginStore) => (await isTask(store, callId)) || isWaiting(store, callId) }),
    execute: (input, context) => tool.run(input, (request, task) => ask(tool, context, request, task), context),
  });

  function ask(tool: ServerCall, context: ToolContext, request: ServerRequest, task: TaskUse | undefined): Promise<JsonObject> {
    const timeoutMs = limitOf(limits, tool.name);
    const rounds = tool.inRounds && keptRounds(place, context);
    const sending = { context, timeoutMs, ...(rounds && { rounds }) };
    if (!task) return call(request, sending, false);
    return callAsTask(request, {
      name,
      context,
      timeoutMs,
      // The library would keep what hears of progress for as long as the connection.
      begin: (given) => call(given, { ...sending, isQuiet: true }, false),
      persist: (given) => persist(name, () => send(given, sending)),
      cancel: async (given) => (await session(context)).call(given, { timeoutMs: CANCEL_MS, signal: AbortSignal.timeout(CANCEL_MS) }),
    });
  }

  async function call(request: ServerRequest, sending: Sending, isSecond: boolean): Promise<JsonObject> {
    try {
      return await send(request, sending);
    } catch (error) {
      if (error instanceof UrlElicitationRequiredError && !isSecond && (await opensPages(name, error, sending.context))) return call(request, sending, true);
      if (!(error instanceof Unanswered)) throw error;
      const { fate } = error;
      // The server did not read the call, so it is safe to repeat it.
      if (fate !== 'unknown' && fate !== 'broken' && !isSecond) return call(request, sending, true);
      throw new Error(`the MCP server ${name} ${problemOf(fate)}`, { cause: error });
    }
  }

  /** @throws Unanswered when the connection was of no use; it is closed then, unless only this answer broke off */
  async function send(request: ServerRequest, { context, timeoutMs, rounds, isQuiet = false }: Sending): Promise<JsonObject> {
    const current = await soon(context);
    try {
      const { signal, askPerson, model } = context;
      const heard = isQuiet ? {} : { onProgress: (line: string) => context.heartbeat(line) };
      return await current.call(request, { signal, timeoutMs, askPerson, model, ...(rounds && { rounds }), ...heard });
    } catch (error) {
      const fate = fateOf(error);
      if (fate === 'answered') throw error instanceof SdkHttpError ? new Error(messageOf(error), { cause: error }) : error;
      if (fate !== 'broken') await current.close(WHY[fate]);
      throw new Unanswered(fate, error);
    }
  }

  function soon(context: ToolContext): Promise<Session> {
    const late = () => new Absent(`the MCP server ${name} is not available, and the call was not made. ${lastAlert() ?? 'It has not been reached yet'}`);
    return inTime(session(context), PATIENCE_MS, late, context.signal);
  }
}

function problemOf(fate: Unanswered['fate']): string {
  if (fate === 'unknown') return 'ended during this call, so it is not known whether the call took effect; the server is started again';
  if (fate === 'broken') return 'broke off its answer to this call, so it is not known whether the call took effect';
  return `did not accept this call: ${WHY[fate]}`;
}

/** For a request that may be repeated: over the next connection where one ends. */
async function persist<Answer>(name: string, send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof Unanswered) && !(error instanceof Absent)) throw error;
      if (attempt < MOST_ATTEMPTS) continue;
      const problem = 'has made this call a task and cannot be reached any more, so it is not known whether the call took effect';
      throw new Error(`the MCP server ${name} ${problem}`, { cause: error });
    }
  }
}

/** A server may refuse a call until a person has opened pages of it. True when a person has said so of all. */
async function opensPages(name: string, { elicitations }: UrlElicitationRequiredError, { askPerson, signal }: ToolContext): Promise<boolean> {
  if (!askPerson || elicitations.length === 0 || elicitations.length > MOST_PAGES) return false;
  for (const asked of elicitations) if ((await askPerson(readQuestion(name, asked), signal)).action !== 'accept') return false;
  return true;
}
