import { z } from 'zod';
import { makeApprovalLink } from '../../client/approval-link.ts';
import { failure } from '../../contracts/errors.ts';
import type { PendingApproval } from '../../contracts/conversation.ts';
import type { Store } from '../../store/store.ts';
import { mayReach, sourceOf, type Caller } from '../auth/caller.ts';
import { linkTime, linkTimeMs } from '../http/link-time.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';

const TIME = { usual: '1h', longest: '7d' } as const;

/** Makes links with which somebody without a key answers one approval. */
export function addApprovalLinkRoutes(api: Api, { store, addressOf }: RouteParts): void {
  api.post(
    '/v1/approvals/:callId/link',
    {
      config: { scope: 'approvals:resolve', repeated: 'once', errors: ['APPROVAL_NOT_FOUND'] },
      schema: {
        summary: 'Make a link to one approval',
        description: 'Anyone who opens the link sees the call and can allow or deny it once, without a key. Send it only to the person who decides.',
        tags: ['approvals'],
        params: z.object({ callId: z.string() }),
        body: z.strictObject({ expiresIn: linkTime(TIME) }).optional(),
        response: { 201: z.object({ linkId: z.string(), url: z.string().meta({ description: 'Shown only now' }), expiresAt: z.string() }), ...refusals },
      },
    },
    async (request, reply) => {
      const { callId } = request.params;
      const ttlMs = linkTimeMs(request.body?.expiresIn, TIME);
      const { conversationId, approval } = await pendingOf(store, request.caller, callId);
      const made = await makeApprovalLink(store, { conversationId, callId, hash: approval.hash, ttlMs }, sourceOf(request));
      if (!made) throw failure('APPROVAL_NOT_FOUND', { callId, conversationId });
      const { linkId, path, expiresAt } = made;
      return reply.code(201).send({ linkId, url: `${addressOf(request)}${path}`, expiresAt: expiresAt.toISOString() });
    },
  );
}

/** @throws APPROVAL_NOT_FOUND when the call does not wait for a person, or is another tenant's */
async function pendingOf(store: Store, caller: Caller, callId: string): Promise<{ conversationId: string; approval: PendingApproval }> {
  const call = await store.toolCalls.get(callId);
  const row = call && (await store.conversations.get(call.conversationId));
  const approval = row && mayReach(caller, row) ? row.status.pendingApprovals.find((one) => one.callId === callId) : undefined;
  if (!row || !approval) throw failure('APPROVAL_NOT_FOUND', { callId, conversationId: '<conversation>' });
  return { conversationId: row.conversationId, approval };
}
