import { z } from 'zod';
import { modelName } from '../../common/model-name.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from './schemas.ts';

export function addAgentRoutes(api: Api, { client }: RouteParts): void {
  api.get(
    '/v1/agents',
    {
      config: { scope: 'conversations:read' },
      schema: {
        summary: 'List the agents that conversations can have',
        tags: ['agents'],
        response: {
          200: z.object({ agents: z.array(z.object({ id: z.string(), model: z.string(), tools: z.array(z.string()) }).meta({ id: 'Agent' })) }),
          ...refusals,
        },
      },
    },
    async () => ({ agents: [...(await client.agents.load()).values()].map((agent) => ({ id: agent.id, model: modelName(agent), tools: agent.tools })) }),
  );
}
