import { z } from 'zod';
import { ask } from '../../hosts/client/exchanges.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';
import { fileInfo, fileParams, flag, pathOf } from './file-schemas.ts';
import { FILE_ERRORS } from './sandbox-errors.ts';
import { targetOf } from './target-of.ts';
import { untilGone } from '../http/until-gone.ts';

const PATH = '/v1/conversations/:id/files/*';
const WRITE = { scope: 'files:write', errors: FILE_ERRORS } as const;

/** Directories, names and removal. What files have in them is in routes of its own. */
export function addFileRoutes(api: Api, { store, hosts }: RouteParts): void {
  api.post(
    PATH,
    {
      config: { ...WRITE, repeated: 'answer' },
      schema: {
        summary: 'Make a directory, or rename a file or directory',
        description: 'A directory that exists already, and missing ones above it, are no error. A rename replaces a file that has the new name.',
        tags: ['files'],
        params: fileParams,
        body: z.discriminatedUnion('action', [
          z.strictObject({
            action: z.literal('rename'),
            to: z.string().meta({ description: 'The new path, not percent-encoded', example: 'report/final.md' }),
          }),
          z.strictObject({ action: z.literal('createDirectory') }),
        ]),
        response: { 200: fileInfo, ...refusals },
      },
    },
    async ({ caller, params, body }, reply) => {
      const path = pathOf(params);
      const target = await targetOf(store, caller, params.id);
      const call = body.action === 'rename' ? ({ do: 'files.rename', path, to: body.to } as const) : ({ do: 'files.createDirectory', path } as const);
      return (await ask(hosts, target, call, untilGone(reply.raw))) as unknown as FileInfo;
    },
  );
  api.delete(
    PATH,
    {
      config: WRITE,
      schema: {
        summary: 'Remove a file or a directory',
        tags: ['files'],
        params: fileParams,
        querystring: z.strictObject({ recursive: flag.optional().meta({ description: 'Also a directory that is not empty' }) }),
        response: { 204: z.undefined(), ...refusals },
      },
    },
    async ({ caller, params, query: { recursive = false } }, reply) => {
      const path = pathOf(params);
      await ask(hosts, await targetOf(store, caller, params.id), { do: 'files.remove', path, recursive }, untilGone(reply.raw));
      return reply.code(204).send();
    },
  );
}
