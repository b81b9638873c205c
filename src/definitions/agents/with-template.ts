import type { Agent } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { Templates } from '../templates/load-templates.ts';
import { nearest } from '../../common/nearest.ts';

/** Adds the options of the agent's template where the agent sets none. Throws AGENT_INVALID for an unknown template. */
export function withTemplate(agent: Agent, { known, directory, file }: { known: Templates; directory: string; file: string }): Agent {
  const name = agent.sandbox?.template;
  if (name === undefined) return agent;
  const template = known.get(name);
  if (template) return { ...agent, sandbox: { ...template.options, ...agent.sandbox } };
  const names = [...known.keys()];
  const guess = nearest(name, names);
  const fix = `${guess === undefined ? '' : `Did you mean "${guess}"? `}Known in ${directory}: ${names.join(', ') || 'none'}`;
  throw failure('AGENT_INVALID', { file, path: 'sandbox.template', problem: `there is no template "${name}"`, fix });
}
