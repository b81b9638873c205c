import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { exportConversation } from '../../client/export/export-conversation.ts';
import { requireScope } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { untilGone } from '../http/until-gone.ts';
import { conversationOf } from '../routes/conversation-of.ts';
import { conversationParams, refusals } from '../routes/schemas.ts';
import { STREAM_TIMES } from '../stream/stream-times.ts';
import { writeInTime } from '../stream/write-in-time.ts';
import { FILE_ERRORS } from './sandbox-errors.ts';

export function addExportRoute(api: Api, { store, hosts, closing, downloads }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/export',
    {
      config: { scope: 'conversations:read', errors: [...FILE_ERRORS, 'DOWNLOAD_LIMIT'], mediaType: 'application/gzip' },
      schema: {
        summary: 'Export a conversation as one file',
        description:
          'A `.tar.gz` that is readable without Longshore: its `README.md` says what is what. Files of the sandbox need the scope `files:read`, too; a sandbox that rests is woken for them. ' +
          'A download that breaks off is not complete.',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.strictObject({
          files: z.enum(['true', 'false']).optional().meta({ description: '`false`: without the files of the sandbox. Default `true`' }),
        }),
        response: { 200: z.string().meta({ description: 'The archive' }), ...refusals },
      },
    },
    async ({ caller, params, query: { files = 'true' } }, reply) => {
      const row = await conversationOf(store, caller, params.id);
      if (files === 'true') requireScope(caller, 'files:read');
      await downloads.run(caller.keyId, async () => {
        const archive = await exportConversation({ store, hosts, closing }, row, { files: files === 'true' });
        reply.hijack();
        await sendArchive(archive, reply.raw, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...headOf(row.conversationId) }).catch((error: unknown) =>
          reply.log.info({ err: error, request: reply.request.id }, 'an export was broken off'),
        );
      });
      return reply;
    },
  );
}

/** Reads no more of the archive than its reader takes. @throws when the archive fails; a reader that has gone is no failure */
export async function sendArchive(archive: Readable, response: ServerResponse, head: OutgoingHttpHeaders): Promise<void> {
  const signal = untilGone(response);
  const leave = () => archive.destroy();
  signal.addEventListener('abort', leave, { once: true });
  // It may have gone while the archive was opened.
  if (signal.aborted) leave();
  try {
    response.writeHead(200, head);
    for await (const piece of archive) await writeInTime(response, piece as Buffer, { signal, stalledMs: STREAM_TIMES.stalledMs });
    response.end();
  } catch (error) {
    response.destroy();
    if (!signal.aborted) throw error;
  }
}

function headOf(conversationId: string): OutgoingHttpHeaders {
  return {
    'content-type': 'application/gzip',
    'content-disposition': `attachment; filename="${conversationId}.tar.gz"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
}
