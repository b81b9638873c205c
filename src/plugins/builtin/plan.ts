import { z } from 'zod';
import type { Agent } from '../../contracts/agent.ts';
import { countDone, MAX_PLAN_ITEMS, MAX_PLAN_TEXT, PLAN_STATUSES, PLAN_TOOL, type PlanItem } from '../../contracts/plan/plan.ts';
import { definePlugin, defineTool, type Plugin, type ToolContext } from '../api/define-plugin.ts';

const [PLUGIN_ID = '', TOOL_ID = ''] = PLAN_TOOL.split(':');

/**
 * The plugin with which a model keeps a plan that people see, in conversations whose agent has one.
 * @param agents all agents, by id
 * @param write replaces the plan, once for each call
 */
export function createPlanPlugin(
  agents: ReadonlyMap<string, Pick<Agent, 'plan'>>,
  write: (place: Pick<ToolContext, 'conversationId' | 'turnId' | 'callId'>, items: PlanItem[]) => Promise<void>,
): Plugin {
  const tool = defineTool({
    id: TOOL_ID,
    description:
      'Replaces your plan, a list of steps that the user sees while you work. Use it for work of several steps: write the plan before you begin, and again each ' +
      'time a step begins or is done. Give all steps each time, in their order; at most one is in_progress.',
    parameters: z.strictObject({
      items: z
        .array(
          z.strictObject({
            text: z.string().min(1).max(MAX_PLAN_TEXT).regex(/\S/).describe('The step, in a few words.'),
            status: z.enum(PLAN_STATUSES),
          }),
        )
        .max(MAX_PLAN_ITEMS)
        .describe(`All steps, at most ${MAX_PLAN_ITEMS}. An empty list removes the plan.`),
    }),
    // It changes something that people see, and nothing else: calls of it stay in order, and a call that is repeated changes nothing.
    annotations: { title: 'Write the plan', idempotentHint: true },
    requireApproval: false,
    summarize: ({ items }) => `${countDone(items)} of ${items.length} done`,
    async execute({ items }, { conversationId, turnId, callId }) {
      await write({ conversationId, turnId, callId }, items);
      return items.length === 0
        ? 'There is no plan any more.'
        : `The plan has ${items.length} ${items.length === 1 ? 'step' : 'steps'}, ${countDone(items)} done.`;
    },
  });
  return definePlugin({
    id: PLUGIN_ID,
    version: '1',
    description: 'The plan of the agent',
    tools: [tool],
    selectTools: async ({ agentId }) => (agents.get(agentId)?.plan ? [TOOL_ID] : []),
  });
}
