import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { makeKeyText, sha256Of } from '../../client/key-text.ts';
import { textSchema } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { FileLink } from '../../store/service/file-links.ts';
import { sourceOf } from '../auth/caller.ts';
import { linkTime, linkTimeMs } from '../http/link-time.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from '../routes/conversation-of.ts';
import { conversationParams, refusals } from '../routes/schemas.ts';
import { MOST_BYTES } from './receive-body.ts';
import { targetOf } from './target-of.ts';

const TIME = { usual: '15m', longest: '24h' } as const;
const USUAL_BYTES = 100 * 1024 ** 2;
const LONGEST_PATH = 4_096;
const LINK = { repeated: 'once', errors: ['CONVERSATION_NOT_FOUND', 'CONVERSATION_CLOSED', 'SANDBOX_ABSENT'] } as const;

const common = {
  path: textSchema(LONGEST_PATH).meta({ description: 'Path below /home/user, or an absolute one; not percent-encoded', example: 'report/summary.md' }),
  expiresIn: linkTime(TIME),
};
const made = z.object({
  linkId: z.string(),
  url: z.string().meta({ description: 'Shown only now' }),
  method: z.enum(['GET', 'PUT']),
  expiresAt: z.string(),
});

/** Makes links with which somebody without a key reads or writes one file. */
export function addFileLinkRoutes(api: Api, parts: RouteParts): void {
  api.post(
    '/v1/conversations/:id/download-links',
    {
      config: { ...LINK, scope: 'files:read' },
      schema: {
        summary: 'Make a link to download one file',
        description: 'Anyone who has the link can read what the file has at that time, also in part, until the link ends.',
        tags: ['files'],
        params: conversationParams,
        body: z.strictObject(common),
        response: { 201: made, ...refusals },
      },
    },
    async (request, reply) => {
      const { path, expiresIn } = request.body;
      return reply.code(201).send(await make(parts, request, { kind: 'download', path, maxBytes: null, ttlMs: linkTimeMs(expiresIn, TIME) }));
    },
  );
  api.post(
    '/v1/conversations/:id/upload-links',
    {
      config: { ...LINK, scope: 'files:write' },
      schema: {
        summary: 'Make a link to upload one file',
        description: 'Anyone who has the link can write this file, again and again, until the link ends. An upload replaces the file when all of it has come.',
        tags: ['files'],
        params: conversationParams,
        body: z.strictObject({
          ...common,
          maxBytes: z.int().min(0).max(MOST_BYTES).optional().meta({ description: 'The most that an upload may have; default 100 MiB' }),
        }),
        response: { 201: made, ...refusals },
      },
    },
    async (request, reply) => {
      const { path, expiresIn, maxBytes = USUAL_BYTES } = request.body;
      return reply.code(201).send(await make(parts, request, { kind: 'upload', path, maxBytes, ttlMs: linkTimeMs(expiresIn, TIME) }));
    },
  );
}

type Wanted = Pick<FileLink, 'kind' | 'path' | 'maxBytes'> & { ttlMs: number };

async function make({ store, addressOf }: RouteParts, request: FastifyRequest, { kind, ...wanted }: Wanted): Promise<z.infer<typeof made>> {
  const { caller, params } = request;
  const { conversationId, state } = await conversationOf(store, caller, (params as { id: string }).id);
  if (state === 'closing' || state === 'closed') throw failure('CONVERSATION_CLOSED', { conversationId });
  const { sandboxId } = await targetOf(store, caller, conversationId);
  const { keyId: linkId, secret, text } = makeKeyText('lsf');
  const link = { ...wanted, linkId, conversationId, sandboxId, keyId: caller.keyId, kind, secretSha256: sha256Of(secret) };
  const row = await store.fileLinks.create(link, sourceOf(request));
  if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  const url = `${addressOf(request)}/files/${kind}/${text}`;
  return { linkId, url, method: kind === 'download' ? 'GET' : 'PUT', expiresAt: row.expiresAt.toISOString() };
}
