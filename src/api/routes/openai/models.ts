import { z } from 'zod';
import { findAgent } from '../../../client/start-conversation.ts';
import { refuseAsOpenAi } from '../../http/refuse.ts';
import type { Api, RouteParts } from '../../http/route-parts.ts';

const model = z
  .object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })
  .meta({ id: 'Model', description: 'An agent, as a model of OpenAI', example: { id: 'captain', object: 'model', created: 0, owned_by: 'longshore' } });
const READ = { scope: 'conversations:read', refusals: 'openai' } as const;

export function addModelRoutes(api: Api, { client }: RouteParts): void {
  api.get(
    '/openai/v1/models',
    {
      config: READ,
      errorHandler: refuseAsOpenAi,
      schema: {
        summary: 'List the agents as models',
        tags: ['openai'],
        response: { 200: z.object({ object: z.literal('list'), data: z.array(model) }) },
      },
    },
    async () => ({ object: 'list' as const, data: [...(await client.agents.load()).values()].map(({ id }) => modelOf(id)) }),
  );
  api.get(
    '/openai/v1/models/:model',
    {
      config: { ...READ, errors: ['AGENT_NOT_FOUND'] },
      errorHandler: refuseAsOpenAi,
      schema: { summary: 'Read one agent as a model', tags: ['openai'], params: z.object({ model: z.string() }), response: { 200: model } },
    },
    async ({ params }) => modelOf((await findAgent(client.agents, params.model)).id),
  );
}

/** When an agent was made is not known. */
function modelOf(id: string) {
  return { id, object: 'model' as const, created: 0, owned_by: 'longshore' };
}
