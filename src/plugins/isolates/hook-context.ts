import type { PluginConversation } from '../api/plugin.ts';
import type { ToolContext } from '../api/tool-context.ts';

/** The context of a plugin's own function for a conversation. It has the store; all other methods of a tool's context are refused. */
export function hookContext({ conversationId, userId, tenantId, agentId, store }: PluginConversation): ToolContext {
  const refuse = (what: string) => () => {
    throw new Error(`${what} is for tools; the plugin's own functions have the store alone`);
  };
  const refuseAll = <Names extends string>(owner: string, names: Names[]) =>
    Object.fromEntries(names.map((name) => [name, refuse(`${owner}.${name}`)])) as Record<Names, () => never>;
  const none = async () => {
    throw new Error('there is no store here');
  };
  return {
    conversationId,
    userId,
    tenantId,
    agentId,
    turnId: '',
    callId: '',
    signal: new AbortController().signal,
    env: {},
    config: {},
    logger: { info: () => undefined, warn: () => undefined },
    heartbeat: () => undefined,
    store: store ?? { get: none, entry: none, set: none, delete: none, list: none },
    files: refuseAll('files', ['put', 'get']),
    sandbox: refuseAll('sandbox', ['handle', 'exec', 'runCode', 'callServer', 'runTool', 'start']),
    ...refuseAll('context', ['fetch', 'send', 'message', 'note']),
  };
}
