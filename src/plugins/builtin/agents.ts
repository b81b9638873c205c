import { z } from 'zod';
import type { Agent } from '../../contracts/agent.ts';
import { AGENT_TOOLS } from '../../contracts/sub-agent.ts';
import { failure } from '../../contracts/errors.ts';
import { definePlugin, defineTool, type Plugin, type Tool } from '../api/define-plugin.ts';

const PLUGIN_ID = 'agents';
const MOST_CHARACTERS = 50_000;
const MOST_AWAITED = 50;

const name = z.string().describe('Name of the agent, as listed in the instructions.');
const task = z.string().min(1).max(MOST_CHARACTERS).describe('What it is to do.');
const started = z.string().describe(`The id of an agent that ${AGENT_TOOLS.start} has answered.`);
const KNOWS_NOTHING = 'It knows nothing of this conversation: say in the task all that it needs to know, and what the answer has to contain.';

/** They only read by themselves: what the other agents do is decided by the rules of those. */
const COMMON = {
  annotations: { readOnlyHint: true, idempotentHint: true },
  requireApproval: false,
  execute: () => {
    throw failure('TOOL_FAILED', { tool: `${PLUGIN_ID}:*`, problem: 'only conversations have sub-agents' });
  },
};

const TOOLS: Tool[] = [
  defineTool({
    ...COMMON,
    id: 'run',
    description:
      `Gives a task to another agent, waits until that agent has done it, and returns its answer. ${KNOWS_NOTHING} Several tasks that do not need each other ` +
      'can be given in one step; they are worked on at the same time.',
    parameters: z.strictObject({ agent: name, task }),
    summarize: (input) => `${input.agent}: ${input.task}`,
  }),
  defineTool({
    ...COMMON,
    id: 'start',
    description: `Gives a task to another agent and does not wait: returns an id at once. A message says when the agent has ended. ${KNOWS_NOTHING}`,
    parameters: z.strictObject({ agent: name, task }),
    summarize: (input) => `${input.agent}: ${input.task}`,
  }),
  defineTool({
    ...COMMON,
    id: 'wait',
    description: 'Waits until all of these agents have ended, and returns how each has ended and its answer.',
    parameters: z.strictObject({ agents: z.array(started).min(1).max(MOST_AWAITED) }),
    summarize: ({ agents }) => agents.join(', '),
  }),
  defineTool({
    ...COMMON,
    id: 'message',
    description: 'Sends a message to an agent that works. It reads the message before its next step.',
    parameters: z.strictObject({ agent: started, message: z.string().min(1).max(MOST_CHARACTERS).describe('The message.') }),
    summarize: ({ agent, message }) => `${agent}: ${message}`,
  }),
  defineTool({
    ...COMMON,
    id: 'stop',
    description: 'Asks an agent that works to end. What it has said until then can be read.',
    parameters: z.strictObject({ agent: started }),
    summarize: ({ agent }) => agent,
  }),
];

/**
 * The plugin with which a model gives tasks to other agents, in conversations whose agent names some.
 * @param agents all agents, by id
 */
export function createAgentsPlugin(agents: ReadonlyMap<string, Pick<Agent, 'agents'>>): Plugin {
  const namesOf = (agentId: string) => Object.entries(agents.get(agentId)?.agents ?? {});
  return definePlugin({
    id: PLUGIN_ID,
    version: '1',
    description: 'Tasks for other agents',
    tools: TOOLS,
    selectTools: async ({ agentId }) => (namesOf(agentId).length > 0 ? Object.keys(AGENT_TOOLS) : []),
    promptText: async ({ agentId }) => {
      const lines = namesOf(agentId).map(([named, { description }]) => `- ${named}: ${description}`);
      return lines.length === 0 ? undefined : `Agents to which tasks can be given with ${AGENT_TOOLS.run} and ${AGENT_TOOLS.start}:\n${lines.join('\n')}`;
    },
  });
}
