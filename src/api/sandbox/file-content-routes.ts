import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { ask, upload } from '../../hosts/client/exchanges.ts';
import type { Target } from '../../hosts/client/host-client.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, seq } from '../routes/schemas.ts';
import { fileInfo, fileParams, flag, pathOf } from './file-schemas.ts';
import { receiveBody } from './receive-body.ts';
import { FILE_ERRORS } from './sandbox-errors.ts';
import { sendFile } from './send-file.ts';
import { targetOf } from './target-of.ts';
import { untilGone } from '../http/until-gone.ts';

const PATH = '/v1/conversations/:id/files/*';
const LARGEST_MODE = 0o7777;
const MOST_ENTRIES = 100_000;

/** What files and directories have in them. */
export function addFileContentRoutes(api: Api, parts: RouteParts): void {
  addRead(api, parts);
  void api.register(async (scope) => {
    // A file may be anything, JSON too, and is never parsed here.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addWrite(scope as unknown as Api, parts);
  });
}

function addRead(api: Api, { store, hosts, downloads }: RouteParts): void {
  api.get(
    PATH,
    {
      config: { scope: 'files:read', errors: [...FILE_ERRORS, 'RANGE_INVALID', 'DOWNLOAD_LIMIT'], givesBytes: true },
      schema: {
        summary: 'Read a file, list a directory, or describe either',
        description:
          'The content of a file, as application/octet-stream; `Range` asks for a part. With `list`, the entries of a directory as JSON; with `info`, what is known about the path. ' +
          'A download that breaks off before its `content-length` is not complete: the file has changed, or its host has gone.',
        tags: ['files'],
        params: fileParams,
        querystring: z.strictObject({
          list: flag.optional().meta({ description: 'The entries of a directory' }),
          info: flag.optional().meta({ description: 'Type, size, mode and times' }),
          recursive: flag.optional().meta({ description: 'With `list`: directories below, too' }),
          pattern: z.string().optional().meta({ description: 'With `list`: only names that match; with a `/`, paths', example: '*.md' }),
          limit: seq
            .pipe(z.int().min(1).max(MOST_ENTRIES))
            .optional()
            .meta({ description: 'With `list`: entries at most. Without it, more than 10,000 are an error' }),
        }),
        headers: z.looseObject({ range: z.string().optional(), 'if-range': z.string().optional() }),
        response: {
          200: z.union([z.object({ entries: z.array(fileInfo) }), fileInfo]),
          206: z.string().meta({ description: 'The part that `range` asks for' }),
          ...refusals,
        },
      },
    },
    async ({ caller, params, query, headers }, reply) => {
      const path = pathOf(params);
      const target = await targetOf(store, caller, params.id);
      const signal = untilGone(reply.raw);
      if (query.info) return (await ask(hosts, target, { do: 'files.info', path }, signal)) as unknown as FileInfo;
      if (query.list) return list({ hosts }, target, path, query, reply);
      await downloads.run(caller.keyId, () => sendFile(hosts, { target, path, headers, signal }, reply));
      return reply;
    },
  );
}

async function list(
  { hosts }: Pick<RouteParts, 'hosts'>,
  target: Target,
  path: string,
  { recursive, pattern, limit }: { recursive?: boolean | undefined; pattern?: string | undefined; limit?: number | undefined },
  reply: FastifyReply,
): Promise<{ entries: FileInfo[] }> {
  const call = { do: 'files.list', path, ...withoutUndefined({ recursive, pattern, maxEntries: limit }) } as const;
  return { entries: (await ask(hosts, target, call, untilGone(reply.raw))) as unknown as FileInfo[] };
}

function addWrite(api: Api, { store, hosts }: RouteParts): void {
  api.put(
    PATH,
    {
      config: { scope: 'files:write', errors: [...FILE_ERRORS, 'BODY_TOO_LARGE'], streamsBody: true, takesBytes: true },
      schema: {
        summary: 'Write a file',
        description:
          'The body is the content, of any type. The file appears when all of it has come, in place of the one before; a request that breaks off changes nothing. Missing directories are made.',
        tags: ['files'],
        params: fileParams,
        querystring: z.strictObject({
          mode: z
            .string()
            .regex(/^0?[0-7]{3,4}$/, 'write octal permission bits, such as 644')
            .transform((text) => Number.parseInt(text, 8) & LARGEST_MODE)
            .optional()
            .meta({ description: 'Permission bits, octal', example: '644' }),
        }),
        response: { 200: fileInfo, ...refusals },
      },
    },
    async ({ caller, params, query: { mode }, raw }, reply) => {
      const path = pathOf(params);
      const target = await targetOf(store, caller, params.id);
      const call = { do: 'files.write', path, ...withoutUndefined({ mode }) } as const;
      return (await upload(hosts, target, call, receiveBody(raw), untilGone(reply.raw))) as unknown as FileInfo;
    },
  );
}
