import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { diffOptions } from '../../client/diff/diff-options.ts';
import { openDiff, type DiffPart, type OpenDiff } from '../../client/diff/open-diff.ts';
import { patchHead, readDiff } from '../../client/diff/read-diff.ts';
import type { ChangeKind, Diff } from '../../contracts/checkpoints/diff.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { untilGone } from '../http/until-gone.ts';
import { conversationOf } from '../routes/conversation-of.ts';
import { conversationParams, refusals, valuesOf } from '../routes/schemas.ts';
import { STREAM_TIMES } from '../stream/stream-times.ts';
import { writeInTime } from '../stream/write-in-time.ts';
import { FILE_ERRORS } from './sandbox-errors.ts';

const moment = z.looseObject({
  checkpointId: z.string().optional().meta({ description: 'Absent: the files as they were at that time', example: 'cp_4_mid0a2k1' }),
  at: z.string().meta({ description: 'ISO 8601, UTC' }),
});
const side = z.looseObject({
  type: z.enum(['file', 'directory', 'link', 'other', 'closed']).meta({ description: '`closed`: it cannot be read' }),
  mode: z.int().optional().meta({ description: 'Permission bits' }),
  bytes: z.number().optional().meta({ description: 'Size of a file' }),
  target: z.string().optional().meta({ description: 'Where a link leads' }),
});
const lines = z
  .looseObject({
    added: z.int(),
    removed: z.int(),
    exact: z.boolean().meta({ description: '`false`: comparing took too long, and all lines count as replaced' }),
  })
  .optional()
  .meta({ description: 'Of files with text' });
const change = z
  .looseObject({
    path: z.string().meta({ description: 'In the home directory', example: 'src/main.py' }),
    change: z
      .enum(['added', 'removed', 'changed', 'type', 'mode'] satisfies ChangeKind[])
      .meta({ description: '`type`: such as a file that is a directory now; `mode`: only its permission bits' }),
    before: side.optional(),
    after: side.optional(),
    lines,
    leftOut: z.string().optional().meta({ description: 'Why a patch does not have it, or not all of it' }),
  })
  .meta({ id: 'FileChange' });
const diff = valuesOf<Omit<Diff, 'patch'>>(
  z
    .looseObject({
      from: moment,
      to: moment,
      woken: z.boolean().meta({ description: 'The sandbox rested, and was woken for this' }),
      changes: z.array(change).meta({ description: 'In the order of the paths; the first 10 000' }),
      changed: z.int().meta({ description: 'How many paths differ' }),
      notListed: z.int().meta({ description: 'How many of them are not in `changes`' }),
      linesAdded: z.int(),
      linesRemoved: z.int(),
      leftOut: z.int().meta({ description: 'How many a patch does not have, or not wholly' }),
      unreadable: z.int().meta({ description: 'Paths that cannot be read: it is not known whether they differ' }),
    })
    .meta({ id: 'Diff' }),
);

const query = z.strictObject({
  from: z.string().optional().meta({ description: 'A checkpoint; by default the newest one', example: 'cp_4_mid0a2k1' }),
  to: z.string().optional().meta({ description: 'A checkpoint; by default the files as they are now', example: 'cp_5_mid0b7x4' }),
  path: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({ description: 'Only this path and what is below it; may be repeated' }),
  format: z.enum(['json', 'patch']).optional().meta({ description: '`patch`: a unified diff as `git apply` takes it, as a stream of bytes. Default `json`' }),
});

export function addDiffRoute(api: Api, { store, hosts, downloads }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/diff',
    {
      config: {
        scope: 'files:read',
        errors: [...FILE_ERRORS, 'CHECKPOINTS_ABSENT', 'CHECKPOINT_NOT_FOUND', 'CHECKPOINT_FAILED', 'DOWNLOAD_LIMIT'],
        givesBytes: true,
      },
      schema: {
        summary: 'List what has changed in the sandbox since a checkpoint, or between two; or read it as a patch',
        description:
          'A sandbox that rests is woken, and rests again. A patch names what it leaves out in lines that begin with `#`; one that breaks off before the end of the response is not complete.',
        tags: ['files'],
        params: conversationParams,
        querystring: query,
        response: { 200: diff, ...refusals },
      },
    },
    async ({ caller, params, query: { path, format, ...moments } }, reply) => {
      const row = await conversationOf(store, caller, params.id);
      const isPatch = format === 'patch';
      const paths = path === undefined ? undefined : [path].flat();
      const options = diffOptions(withoutUndefined({ ...moments, paths, patch: isPatch }));
      const open = () => openDiff({ store, hosts }, row, options, untilGone(reply.raw));
      if (!isPatch) return readDiff(await open(), row.conversationId, false);
      await downloads.run(caller.keyId, async () => sendPatch(await open(), row.conversationId, reply));
      return reply;
    },
  );
}

async function sendPatch({ from, to, parts }: OpenDiff, conversationId: string, reply: FastifyReply): Promise<void> {
  const signal = untilGone(reply.raw);
  // The first part shows whether anything can be compared.
  const first = await parts.next();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...headOf(conversationId) });
  const write = (piece: Buffer) => writeInTime(raw, piece, { signal, stalledMs: STREAM_TIMES.stalledMs });
  try {
    await write(patchHead(conversationId, from, to));
    let isWhole = await writePart(first.value as DiffPart | undefined, write);
    for await (const part of parts) {
      isWhole = await writePart(part, write);
      if (raw.destroyed) throw new Error('the reader has gone');
    }
    if (!isWhole) throw new Error('the comparison ended without its end');
    raw.end();
  } catch (error) {
    reply.log.info({ err: error, request: reply.request.id }, 'a patch was broken off');
    raw.destroy();
  }
}

/** Returns whether it was the end. */
async function writePart(part: DiffPart | undefined, write: (piece: Buffer) => Promise<void>): Promise<boolean> {
  if (part && 'patch' in part) await write(part.patch);
  return part !== undefined && 'end' in part;
}

/** What a guest has written must never run as a page of the service. */
function headOf(conversationId: string): OutgoingHttpHeaders {
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${conversationId}.patch"`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
}
