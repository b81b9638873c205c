import { z } from 'zod';
import type { Longshore } from '../../client/types.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { COMMAND_ERRORS, conversationOf } from './conversation-of.ts';
import { conversationParams, refusals } from './schemas.ts';

const amount = z.int().min(0).optional();
const accepted = { 202: z.object({ accepted: z.literal(true) }), ...refusals };
const DONE = { accepted: true } as const;

/** The signals of a conversation. */
export function addControlRoutes(api: Api, { longshoreFor, store }: RouteParts): void {
  const signal = <Body extends z.ZodType>(
    name: string,
    summary: string,
    body: Body,
    send: (longshore: Longshore, id: string, body: z.output<Body>) => Promise<void>,
  ) => {
    api.post(
      `/v1/conversations/:id/${name}`,
      {
        config: { scope: 'conversations:write', repeated: 'answer', errors: [...COMMAND_ERRORS, 'CONVERSATION_SUSPENDED'] },
        schema: { summary, tags: ['conversations'], params: conversationParams, body: body.optional(), response: accepted },
      },
      async (request, reply) => {
        const { conversationId } = await conversationOf(store, request.caller, request.params.id);
        await send(longshoreFor(request), conversationId, (request.body ?? {}) as z.output<Body>);
        return reply.code(202).send(DONE);
      },
    );
  };
  const nothing = z.strictObject({});
  const pause = z.strictObject({ mode: z.enum(['step', 'now']).optional(), note: z.string().optional() });
  const compact = z.strictObject({ undo: z.boolean().optional().describe('Take the newest compaction back') });
  const resume = z.strictObject({
    extraTurns: amount,
    extraTokens: amount,
    extraWallTimeMs: amount,
    extraStorageMb: amount,
    extraCostUsd: z.number().min(0).optional(),
  });
  signal('pause', 'Pause after the running step, or at once', pause, (longshore, id, body) => longshore.pause(id, withoutUndefined(body)));
  signal('resume', 'Go on after a pause, with more budget if given', resume, (longshore, id, body) => longshore.resume(id, withoutUndefined(body)));
  signal('interrupt', 'End the running turn now; the next message is answered', nothing, (longshore, id) => longshore.interrupt(id));
  signal('stop-after-step', 'End the running turn when its step is done', nothing, (longshore, id) => longshore.stopAfterStep(id));
  signal('cancel', 'End the running turn and drop the waiting messages', nothing, (longshore, id) => longshore.cancel(id));
  signal('compact', 'Leave older steps out of the prompts, before the next step; or undo that', compact, (longshore, id, body) =>
    longshore.compact(id, withoutUndefined(body)),
  );
  signal('close', 'End the conversation', nothing, (longshore, id) => longshore.close(id));
  api.delete(
    '/v1/conversations/:id',
    {
      config: { scope: 'conversations:write', errors: ['CONVERSATION_NOT_FOUND', 'CONVERSATION_UNSTARTED'] },
      schema: {
        summary: 'End the conversation',
        description: 'The same as `POST …/close`. Its events and transcript stay until the retention of the tenant removes them.',
        tags: ['conversations'],
        params: conversationParams,
        response: accepted,
      },
    },
    async (request, reply) => {
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      await longshoreFor(request).close(conversationId);
      return reply.code(202).send(DONE);
    },
  );
}
