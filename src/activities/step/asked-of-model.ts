import type { CallModelArgs, ModelOutcome } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { AskedByPlugins } from '../../contracts/usage.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { Store } from '../../store/store.ts';
import { askedSoFar } from '../../tool-calls/ask/asked-so-far.ts';
import { hasHandlers } from '../../tool-calls/hooks/has-handlers.ts';

interface Parts {
  store: Pick<Store, 'usage' | 'taskQuestions'>;
  registry: Pick<Registry, 'tools' | 'forAgent'>;
  agents: ReadonlyMap<string, Agent>;
}

/** What plugins that take part in the step have asked the model; nothing where none of the agent does. */
export async function askedByHooks({ registry, agents, store }: Parts, args: CallModelArgs): Promise<Pick<AskedByPlugins, 'asked'>> {
  return hasHandlers(registry, agents.get(args.agentId)) ? askedSoFar(store.usage, args, args.stepId) : {};
}

/** What tasks of plugins have asked the model for the conversation; only plugins with sandboxes of their own have tasks. */
export async function askedByTasks({ registry, store }: Parts, args: CallModelArgs): Promise<Pick<AskedByPlugins, 'askedByTasks'>> {
  if (!args.tasksMayUse || !registry.tools.some(({ isolation }) => isolation === 'own')) return {};
  const used = await store.taskQuestions.used(args.conversationId);
  return used ? { askedByTasks: used } : {};
}

/** What there is no more of: storage, or tokens and cost that tasks have used, which the workflow does not know. */
export function lackingIn(
  { storageLimit = Infinity, tasksMayUse: { tokens = Infinity, costUsd = Infinity } = {} }: CallModelArgs,
  storedBytes: number,
  { askedByTasks: used }: AskedByPlugins,
): Extract<ModelOutcome, { outcome: 'exhausted' | 'spent' }> | undefined {
  if (storedBytes >= storageLimit) return { outcome: 'exhausted', storedBytes };
  const isSpent = used !== undefined && (used.inputTokens + used.outputTokens >= tokens || used.costUsd >= costUsd);
  return isSpent ? { outcome: 'spent' } : undefined;
}
