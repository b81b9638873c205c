import { z } from 'zod';
import { readAttachment } from '../../client/attachments/attachment-calls.ts';
import { ATTACHMENT_LIMITS, type StoredMedia } from '../../contracts/attachments/media.ts';
import { dispositionOf } from '../http/content-disposition.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationId, refusals, valuesOf } from './schemas.ts';

/** Of a message with as many bytes of attachments as it may have, in base 64. */
export const BODY_WITH_ATTACHMENTS = 30_000_000;
const { ofMessage, bytes, bytesOfMessage } = ATTACHMENT_LIMITS;
/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const BLOB = `sha256:${'4f6c0f9b'.repeat(8)}`;

export const attachmentsBody = z
  .array(
    z.strictObject({
      name: z.string().meta({ description: 'Name of a file, without a directory', example: 'chart.png' }),
      mediaType: z.string().optional().meta({ description: 'Of files; images and PDF are known by their bytes', example: 'image/png' }),
      data: z.string().meta({ description: 'Base 64', example: PIXEL }),
    }),
  )
  .meta({ description: `Images and files: up to ${ofMessage} of ${bytes} bytes each and ${bytesOfMessage} bytes together` });

const facts = valuesOf<StoredMedia>(
  z
    .looseObject({
      type: z.enum(['image', 'file']),
      mediaType: z.string().meta({ example: 'image/png' }),
      name: z.string().optional().meta({ example: 'chart.png' }),
      blob: z.string().meta({ description: 'Its id', example: BLOB }),
      bytes: z.int(),
    })
    .meta({ id: 'Attachment' }),
);

export function addAttachmentRoutes(api: Api, { store }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/attachments/:attachmentId',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'ATTACHMENT_NOT_FOUND'], givesBytes: true },
      schema: {
        summary: 'Download an attachment, or an image or file of a result',
        description:
          'The bytes, to be saved; with `info`, what is known about them, as JSON. Images have their media type, everything else is application/octet-stream.',
        tags: ['conversations'],
        params: z.object({
          id: conversationId,
          attachmentId: z
            .string()
            .meta({ description: 'The `blob` of a part of the transcript, or the `attachmentId` of the event message.received', example: BLOB }),
        }),
        querystring: z.strictObject({
          info: z
            .enum(['', 'true', 'false'])
            .transform((text) => text !== 'false')
            .optional()
            .meta({ description: 'Name, media type and size, instead of the bytes' }),
        }),
        response: { 200: facts, ...refusals },
      },
    },
    async ({ caller, params: { id, attachmentId }, query }, reply) => {
      const { data, ...info } = await readAttachment(store, attachmentId, await conversationOf(store, caller, id));
      if (query.info) return info;
      // What a user or a guest has made must never run as a page of the service. Images whose bytes say so cannot.
      const headers = {
        'content-type': info.type === 'image' ? info.mediaType : 'application/octet-stream',
        'content-disposition': dispositionOf(info.name ?? 'attachment'),
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, max-age=86400, immutable',
      };
      return reply.headers(headers).send(data as never);
    },
  );
}
