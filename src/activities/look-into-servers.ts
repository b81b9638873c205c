import { inTime } from '../common/in-time.ts';
import type { CallModelArgs } from '../contracts/activities.ts';
import { elsewhereOf } from '../sandbox/api/elsewhere.ts';
import type { Agent } from '../contracts/agent.ts';
import { restartNote } from '../plugins/dialects/mcp/call-guest.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { serversIn } from '../tool-calls/run/servers-in-sandbox.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

type Parts = Pick<ActivityDependencies, 'registry' | 'log' | 'agents'> & {
  store: Pick<ActivityDependencies['store'], 'transcript'>;
  opened: Pick<ConversationSandboxes, 'ifAwake'>;
};

/** A sandbox that does not answer must not delay a step for longer. */
const PATIENCE_MS = 15_000;

/**
 * Maintains the MCP servers in a conversation's sandbox before a step: a server that reported changed tools is asked for them, and a server that an
 * operator has disabled is ended. A sandbox that rests is not woken. A failure is left to the next step.
 */
export async function lookIntoServers(parts: Parts, args: CallModelArgs, agent: Agent): Promise<void> {
  const names = guestsOf(agent);
  if (names.length === 0) return;
  try {
    await inTime(look(parts, args, names), PATIENCE_MS, () => new Error(`it took longer than ${PATIENCE_MS} ms`));
  } catch (error) {
    if (elsewhereOf(error)) throw error;
    parts.log.warn({ conversationId: args.conversationId, err: error }, 'the MCP servers in a sandbox could not be checked');
  }
}

/** Names of an agent's servers in sandboxes. */
export function guestsOf({ mcp = {} }: Pick<Agent, 'mcp'>): string[] {
  return Object.keys(mcp).filter((name) => mcp[name] !== undefined && 'where' in mcp[name] && mcp[name].where === 'sandbox');
}

async function look({ registry, store, opened, agents }: Parts, args: CallModelArgs, names: string[]): Promise<void> {
  const sandbox = await opened.ifAwake(args);
  if (!sandbox) return;
  const { conversationId, turnId, stepId } = args;
  const enabled = names.filter((name) => registry.plugin(name) !== undefined);
  // Servers of other agents that share the sandbox go on.
  if (enabled.length < names.length)
    await sandbox.endServers(serversIn(agents, args.agentId).filter((name) => enabled.includes(name) || !names.includes(name)));
  for (const name of enabled) {
    await registry.plugin(name)?.lookInto?.(args, sandbox, async (why) => {
      await store.transcript.append(conversationId, turnId, stepId, `${stepId}-${name}`, { role: 'note', text: restartNote(name, why) });
    });
  }
}
