import { Context } from '@temporalio/activity';
import { anySignal } from '../../common/any-signal.ts';
import { createTurns } from '../../common/turns.ts';
import { modelName } from '../../common/model-name.ts';
import type { HostOfQuestion } from '../../plugins/api/server-question.ts';
import type { ToolContext, ToolSandbox, UserMessage } from '../../plugins/api/tool-context.ts';
import { openConversation, ownSandboxOf, type ToolRun } from './tool-run.ts';
import type { CallSandbox } from './tool-sandbox.ts';
import { askModel, type AskParts } from '../ask/ask-model.ts';
import { saidSoFar } from '../ask/said-so-far.ts';
import { storeOf } from '../offer/plugin-store.ts';
import { filesFor } from './tool-files.ts';
import { createToolMessages, type Messages } from './tool-messages.ts';

/** The context that the tool gets besides its arguments. */
export function contextFor(run: ToolRun, sandbox: CallSandbox, signal: AbortSignal): ToolContext {
  const { conversationId, userId, tenantId, agentId, turnId, callId } = run.args;
  const { services, tool } = run;
  const fetch = endingWith(signal, services.fetchFor(tool.permissions.network ?? []));
  const { send, note, at } = createToolMessages(run, signal);
  return {
    conversationId,
    userId,
    tenantId,
    agentId,
    turnId,
    callId,
    signal,
    sandbox: toolSandbox(run, sandbox, signal, at),
    logger: loggerFor(run),
    heartbeat: (line) => run.progress.line(line),
    env: environmentOf(run),
    config: services.configOf(tool.pluginId),
    store: storeOf(run.store, tool.pluginId, run.args),
    files: filesFor(run, ownSandboxOf(tool) ? { handle: () => openConversation(run) } : sandbox, fetch),
    fetch,
    message: () => messageOf(run),
    send,
    note,
  };
}

function loggerFor({ log, logLimits, tool: { pluginId }, args: { tenantId } }: ToolRun): ToolContext['logger'] {
  // Of all calls that a plugin has from one tenant.
  const mayWrite = logLimits(JSON.stringify([pluginId, tenantId]), { plugin: pluginId, tenantId });
  const write =
    (level: 'info' | 'warn') =>
    (message: string, values: object = {}): void => {
      if (mayWrite((message as string | undefined)?.length ?? 0)) log[level](values, message);
    };
  return { info: write('info'), warn: write('warn') };
}

/** Only the methods of the plugin API: tools must not use the others, such as `detach`. */
function toolSandbox(run: ToolRun, sandbox: CallSandbox, signal: AbortSignal, at: Messages['at']): ToolSandbox {
  const { handle, exec, runCode, start } = sandbox;
  const hostOf = hostsOfQuestions(run, signal);
  return {
    handle,
    exec,
    runCode,
    callServer: (server, request, { ask, ...options } = {}) =>
      sandbox.callServer(server, request, { ...options, ...(ask && { ask: ({ what, args, number }) => ask({ what, args, ...hostOf(number) }) }) }),
    runTool: (given) => sandbox.runTool({ ...given, ask: (question) => given.ask({ ...question, ...at(question.number) }) }),
    start,
  };
}

export interface Asking extends Pick<AskParts, 'args' | 'agent' | 'models'> {
  store: Pick<ToolRun['store'], 'usage' | 'transcript'>;
}

/** What a plugin in a sandbox of its own, or an MCP server, may use for its n-th question. */
export function hostsOfQuestions({ args, agent, models, store }: Asking, signal: AbortSignal): (number: number) => HostOfQuestion {
  const { activityId, attempt, workflowExecution } = Context.current().info;
  // Each run of a workflow numbers its activities from the beginning, and a call may be attached to in several runs.
  const attached = `${workflowExecution?.runId ?? ''}-${activityId}-${attempt}`;
  // One after the other: each question knows what those before it have used, and a plugin that asks often reads the transcript no more than once at a time.
  const { inTurn } = createTurns();
  let asked = 0;
  return (number) => ({
    askModel: (question) => inTurn(() => askModel({ args, agent, models, usage: store.usage, signal }, `${number}-${attached}-${++asked}`, question)),
    modelName: agent ? modelName(agent) : '',
    saidSoFar: () => inTurn(async () => saidSoFar(await store.transcript.current(args.conversationId))),
  });
}

async function messageOf({ store, args }: ToolRun): Promise<UserMessage | undefined> {
  const found = await store.transcript.messageOf(args.conversationId, args.turnId);
  if (found?.entry.role !== 'user') return undefined;
  const { content } = found.entry;
  return { text: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'), content, at: found.at };
}

function environmentOf({ tool, services }: ToolRun): Readonly<Record<string, string>> {
  const declared = tool.environment.map((name) => [name, services.environment(name)] as const);
  return Object.freeze(Object.fromEntries(declared.filter((pair): pair is [string, string] => pair[1] !== undefined)));
}

/** A request ends with its call. */
function endingWith(signal: AbortSignal, fetch: ToolContext['fetch']): ToolContext['fetch'] {
  return (url, init = {}) => fetch(url, { ...init, signal: init.signal ? anySignal([signal, init.signal]) : signal });
}
