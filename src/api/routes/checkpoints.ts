import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Checkpoint } from '../../contracts/checkpoints/checkpoint.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { COMMAND_ERRORS, conversationOf } from './conversation-of.ts';
import { conversationParams, refusals, valuesOf } from './schemas.ts';

const checkpoint = valuesOf<Checkpoint>(
  z
    .looseObject({
      checkpointId: z.string().meta({ example: 'cp_4_mid0a2k1' }),
      turnId: z.string().meta({ description: 'The turn at whose end, or in which, it was made' }),
      stepId: z.string().optional().meta({ description: 'Present when it was made at the end of a step' }),
      at: z.string().meta({ description: 'ISO 8601, UTC' }),
      transcriptSeq: z.int().meta({ description: 'Number of the last entry of the transcript at that moment' }),
      files: z.number(),
      bytes: z.number().meta({ description: 'Size of all files' }),
      changed: z.number().meta({ description: 'Paths that differ from the checkpoint before it' }),
      addedBytes: z.number().meta({ description: 'What it takes up in addition to those before it' }),
      leftOut: z.number().meta({ description: 'Files and directories that could not be read' }),
    })
    .meta({ id: 'Checkpoint' }),
);

export function addCheckpointRoutes(api: Api, { store, longshoreFor }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/checkpoints',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        summary: 'List the checkpoints of the sandbox, the oldest first',
        tags: ['conversations'],
        params: conversationParams,
        response: { 200: z.object({ checkpoints: z.array(checkpoint) }), ...refusals },
      },
    },
    async ({ caller, params }) => {
      const { conversationId } = await conversationOf(store, caller, params.id);
      return { checkpoints: await store.checkpoints.list(conversationId) };
    },
  );
  api.post(
    '/v1/conversations/:id/rewind',
    {
      config: {
        scope: 'conversations:write',
        repeated: 'answer',
        errors: [...COMMAND_ERRORS, 'CHECKPOINT_NOT_FOUND', 'REWIND_REFUSED', 'REWIND_UNCONFIRMED', 'CHECKPOINT_FAILED'],
      },
      schema: {
        summary: 'Go back to a checkpoint, between two turns',
        description:
          'Makes files and transcript as they were. When something since then reached beyond the sandbox, the answer is `409 REWIND_UNCONFIRMED` with `values.effects` and `values.confirm`; send `confirm` to go back all the same.',
        tags: ['conversations'],
        params: conversationParams,
        body: z.strictObject({
          checkpointId: z.string().meta({ description: 'Of the list of checkpoints', example: 'cp_4_mid0a2k1' }),
          confirm: z.string().optional().meta({ description: 'From the refusal', example: '5d1f0c9ab2e34f70' }),
        }),
        response: {
          200: z.object({
            checkpointId: z.string(),
            before: z.string().meta({ description: 'The checkpoint of the state before: going back to it takes the rewind back' }),
            written: z.number().meta({ description: 'Files and directories that were written' }),
            removed: z.number(),
            failed: z.number().meta({ description: 'What could not be restored' }),
          }),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      const { checkpointId, ...options } = request.body;
      return longshoreFor(request).rewind(conversationId, checkpointId, withoutUndefined(options));
    },
  );
}
