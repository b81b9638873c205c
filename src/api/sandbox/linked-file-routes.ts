import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { upload } from '../../hosts/client/exchanges.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import { sourceOf } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';
import { receiveBody } from './receive-body.ts';
import { FILE_ERRORS } from './sandbox-errors.ts';
import { sendFile } from './send-file.ts';
import { targetOf } from './target-of.ts';
import { untilGone } from '../http/until-gone.ts';

const DOWNLOAD = '/files/download/:token';
const UPLOAD = '/files/upload/:token';
const OPEN = { scope: 'none', errors: [...FILE_ERRORS, 'LINK_ENDED', 'LIMIT_REACHED', 'RANGE_INVALID', 'BODY_TOO_LARGE'] } as const;
const params = z.object({ token: z.string().meta({ description: 'As the link has it', example: 'lsf_…' }) });
const querystring = z.strictObject({});

/** Who has a link may use it from a page of any origin: no cookie or key is sent along. */
const FOR_PAGES = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'content-disposition, content-range, etag' };
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, PUT',
  'access-control-allow-headers': 'content-type, range, if-range',
  'access-control-max-age': '600',
};
const onSend = async (_request: unknown, reply: FastifyReply) => void reply.headers(FOR_PAGES);

/** What links to files lead to. A link is for one method, file, sandbox and tenant; nothing of that is in its address, so nothing of it can be changed there. */
export function addLinkedFileRoutes(api: Api, parts: RouteParts): void {
  for (const path of [DOWNLOAD, UPLOAD]) {
    api.options(path, { config: { scope: 'none' }, onSend, schema: { hide: true } }, async (_request, reply) => reply.code(204).headers(PREFLIGHT).send());
  }
  addDownload(api, parts);
  void api.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addUpload(scope as unknown as Api, parts);
  });
}

function addDownload(api: Api, { store, hosts, downloads }: RouteParts): void {
  api.get(
    DOWNLOAD,
    {
      config: { ...OPEN, errors: [...OPEN.errors, 'DOWNLOAD_LIMIT'], link: 'download', givesBytes: true },
      onSend,
      schema: {
        summary: 'Download the file of a link',
        description: 'Needs no key. `Range` asks for a part.',
        tags: ['files'],
        params,
        querystring,
        headers: z.looseObject({ range: z.string().optional(), 'if-range': z.string().optional() }),
        response: { 200: z.string(), 206: z.string().meta({ description: 'The part that `range` asks for' }), ...refusals },
      },
    },
    async ({ caller, fileLink, headers }, reply) => {
      const target = await targetOf(store, caller, fileLink.conversationId);
      const wanted = { target, path: fileLink.path, headers, signal: untilGone(reply.raw) };
      await downloads.run(caller.keyId, () => sendFile(hosts, wanted, reply.headers(FOR_PAGES)));
      return reply;
    },
  );
}

function addUpload(api: Api, { store, hosts }: RouteParts): void {
  api.put(
    UPLOAD,
    {
      config: { ...OPEN, link: 'upload', streamsBody: true, takesBytes: true },
      onSend,
      schema: {
        summary: 'Upload the file of a link',
        description: 'Needs no key. The body is the content, of any type; the file appears when all of it has come.',
        tags: ['files'],
        params,
        querystring,
        response: { 200: z.object({ size: z.number().meta({ description: 'Bytes of the file' }) }), ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, raw, fileLink } = request;
      const { tenantId, conversationId, linkId, path, maxBytes } = fileLink;
      const target = await targetOf(store, caller, conversationId);
      await store.audit.add({ ...sourceOf(request), action: 'link.use', target: conversationId, tenantId, details: { linkId, kind: 'upload' } });
      const body = receiveBody(raw, maxBytes ?? undefined);
      const { size } = (await upload(hosts, target, { do: 'files.write', path }, body, untilGone(reply.raw))) as unknown as FileInfo;
      return { size };
    },
  );
}
