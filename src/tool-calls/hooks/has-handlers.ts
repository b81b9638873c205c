import type { Agent } from '../../contracts/agent.ts';
import type { Registry } from '../../plugins/registry/registry.ts';

/** Whether plugins of the agent take part in its steps. */
export function hasHandlers(registry: Pick<Registry, 'tools' | 'forAgent'>, agent: Agent | undefined): boolean {
  if (!agent || !registry.tools.some(({ hook }) => hook)) return false;
  try {
    return registry.forAgent(agent).some(({ hook }) => hook);
  } catch {
    // An agent that cannot work has none.
    return false;
  }
}
