import { failure } from '../contracts/errors.ts';
import type { PluginStore, ToolContext, ToolFiles } from '../plugins/tool-context.ts';
import type { ToolRun } from './tool-run.ts';
import type { CallSandbox } from './tool-sandbox.ts';
import { createMessages } from './tool-messages.ts';

/** What the tool is given besides its arguments. */
export function contextFor(run: ToolRun, sandbox: CallSandbox, signal: AbortSignal): ToolContext {
  const { conversationId, userId, tenantId, agentId, turnId, callId } = run.args;
  const { log, services, tool } = run;
  return {
    conversationId,
    userId,
    tenantId,
    agentId,
    turnId,
    callId,
    signal,
    sandbox,
    logger: { info: (message, values = {}) => log.info(values, message), warn: (message, values = {}) => log.warn(values, message) },
    heartbeat: (line) => run.progress.line(line),
    env: environmentOf(run),
    config: services.configOf(tool.pluginId),
    store: refusing<PluginStore>('store', ['get', 'entry', 'set', 'delete', 'list']),
    files: refusing<ToolFiles>('files', ['put', 'get']),
    fetch: services.fetchFor(tool.permissions.network ?? []),
    ...createMessages(run, signal),
  };
}

function environmentOf({ tool, services }: ToolRun): Readonly<Record<string, string>> {
  const declared = tool.environment.map((name) => [name, services.environment(name)] as const);
  return Object.freeze(Object.fromEntries(declared.filter((pair): pair is [string, string] => pair[1] !== undefined)));
}

function refusing<Part extends object>(name: string, methods: (keyof Part & string)[]): Part {
  const refuse = async () => {
    throw failure('TOOL_FAILED', { tool: name, problem: 'this worker has none' });
  };
  return Object.fromEntries(methods.map((method) => [method, refuse])) as unknown as Part;
}
