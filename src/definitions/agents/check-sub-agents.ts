import type { Agent } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { isShared } from '../../contracts/sub-agents/sandbox-use.ts';
import { nearest } from '../../common/nearest.ts';

const ENDS_WITH_TURN = {
  problem: 'cannot be shared, because sandbox.persist is false: it is destroyed at the end of each turn, at which sub-agents may still work',
  fix: 'Use sandbox: own or fork, or let the sandbox persist',
};

/**
 * Checks that the agents exist to which an agent may give tasks.
 * @throws AGENT_INVALID
 */
export function checkSubAgents({ agents = {}, sandbox: own }: Agent, known: ReadonlyMap<string, Agent>, file: string): void {
  for (const [name, { agent: wanted, sandbox }] of Object.entries(agents)) {
    if (isShared(sandbox) && own.persist === false) throw failure('AGENT_INVALID', { file, path: `agents.${name}.sandbox`, ...ENDS_WITH_TURN });
    if (known.has(wanted)) continue;
    const names = [...known.keys()].toSorted();
    const guess = nearest(wanted, names);
    const fix = `${guess === undefined ? '' : `Did you mean "${guess}"? `}Known: ${names.join(', ')}`;
    throw failure('AGENT_INVALID', { file, path: `agents.${name}.agent`, problem: `there is no agent "${wanted}"`, fix });
  }
}
