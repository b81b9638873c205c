import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from '../routes/conversation-of.ts';
import { conversationParams, refusals } from '../routes/schemas.ts';

const amount = z.number().optional();
const sandbox = z
  .object({
    sandboxId: z.string(),
    tier: z
      .enum(['none', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'] satisfies SandboxTier[])
      .meta({ description: '`none`: it is being made' }),
    template: z.string().optional(),
    memoryMb: amount.meta({ description: 'Limit, in MiB' }),
    diskMb: amount.meta({ description: 'Limit, in MiB' }),
    cpus: amount.meta({ description: 'Limit, in processors' }),
    pids: amount.meta({ description: 'Limit of processes' }),
    egress: z.array(z.string()).meta({ description: 'Hosts that it may reach', example: ['api.example.com'] }),
    createdAt: z.string(),
    lastUsedAt: z.string(),
  })
  .meta({ id: 'Sandbox' });

export function addSandboxRoute(api: Api, { store }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/sandbox',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'SANDBOX_ABSENT'] },
      schema: {
        summary: 'Read the state and the limits of the sandbox of a conversation',
        description: 'It does not wake the sandbox. A limit that is absent is the one of the workers.',
        tags: ['conversations'],
        params: conversationParams,
        response: { 200: sandbox, ...refusals },
      },
    },
    async ({ caller, params }) => {
      const { conversationId } = await conversationOf(store, caller, params.id);
      const row = await store.sandboxes.ofConversation(conversationId);
      if (!row) throw failure('SANDBOX_ABSENT', { conversationId });
      return shown(row);
    },
  );
}

/** Without what only operators should see: hosts, images, names of containers. */
function shown({ sandboxId, state, options, createdAt, lastUsedAt }: SandboxRow): z.output<typeof sandbox> {
  const { template, memoryMb, diskMb, cpus, pids, egress = [] } = options as SandboxOptions;
  return {
    sandboxId,
    tier: state === 'creating' || state === 'warm' ? 'none' : state,
    egress: egress.map((rule) => (typeof rule === 'string' ? rule : rule.host)),
    createdAt,
    lastUsedAt,
    ...withoutUndefined({ template, memoryMb, diskMb, cpus, pids }),
  };
}
