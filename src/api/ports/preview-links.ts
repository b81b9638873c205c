import { z } from 'zod';
import { hasSecret, makeKeyText, readKeyText, sha256Of } from '../../client/key-text.ts';
import { duration } from '../../common/duration.ts';
import { failure } from '../../contracts/errors.ts';
import { LAST_PORT } from '../../hosts/channel/calls.ts';
import type { PreviewLink } from '../../store/service/preview-links.ts';
import type { Store } from '../../store/store.ts';
import { sourceOf } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from '../routes/conversation-of.ts';
import { conversationParams, refusals } from '../routes/schemas.ts';

const DEFAULT_TTL_MS = 3_600_000;
const SHORTEST_TTL_MS = 60_000;
const LONGEST_TTL_MS = 86_400_000;
const ttl = duration.refine((ms) => ms >= SHORTEST_TTL_MS && ms <= LONGEST_TTL_MS, 'give 1m to 24h');
const ROUTE = '/v1/conversations/:id/previews';
const CONFIG = { scope: 'ports:connect', errors: ['CONVERSATION_NOT_FOUND'] } as const;
/** Where a link leads on a host of previews; no path of the guest. */
export const OPEN_PATH = '/.longshore/preview/';
export const PREVIEW_PATH = '/previews/';

/** Makes links with which a browser, which can send no key, sees a port of a sandbox. */
export function addPreviewLinkRoutes(api: Api, { store, addressOf, previews }: RouteParts): void {
  api.post(
    ROUTE,
    {
      config: { ...CONFIG, repeated: 'once' },
      schema: {
        summary: 'Make a link to a port of the sandbox',
        description:
          'Anyone who opens the link in a browser sees what a program in the sandbox serves on this port, until the link ends: HTTP and WebSockets. ' +
          'Programs with a key need no link: they ask `/v1/conversations/{id}/ports/{port}/<path>`.',
        tags: ['previews'],
        params: conversationParams,
        body: z.strictObject({
          port: z.int().min(1).max(LAST_PORT).meta({ description: 'On the loopback interface of the sandbox', example: 3000 }),
          expiresIn: z.union([z.string(), z.number()]).optional().meta({ description: '1m to 24h; default 1h', example: '1h' }),
        }),
        response: { 201: z.object({ linkId: z.string(), url: z.string().meta({ description: 'Shown only now' }), expiresAt: z.string() }), ...refusals },
      },
    },
    async (request, reply) => {
      const { port, expiresIn } = request.body;
      const ttlMs = ttlOf(expiresIn);
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      const { keyId: linkId, secret, text } = makeKeyText('lsp');
      const link = { linkId, conversationId, port, keyId: request.caller.keyId, secretSha256: sha256Of(secret), ttlMs };
      const made = await store.previewLinks.create(link, sourceOf(request));
      if (!made) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      const url = previews ? previews.originOf(conversationId, port) + OPEN_PATH + text : `${addressOf(request)}${PREVIEW_PATH}${text}/`;
      return reply.code(201).send({ linkId, url, expiresAt: made.expiresAt.toISOString() });
    },
  );
  api.delete(
    ROUTE,
    {
      config: CONFIG,
      schema: {
        summary: 'End all links to ports of the sandbox',
        description: 'What is open over them stays open until it ends.',
        tags: ['previews'],
        params: conversationParams,
        response: { 204: z.undefined(), ...refusals },
      },
    },
    async (request, reply) => {
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      await store.previewLinks.end(conversationId, sourceOf(request));
      return reply.code(204).send();
    },
  );
}

/** The link of a token. @throws LINK_ENDED */
export async function previewLinkOf(store: Pick<Store, 'previewLinks'>, token: string): Promise<PreviewLink> {
  const given = readKeyText(token, 'lsp');
  const link = given && (await store.previewLinks.find(given.keyId));
  const isRight = hasSecret(given, link?.secretSha256);
  if (!link || !isRight) throw failure('LINK_ENDED', { problem: 'is not valid, or has ended' });
  return link;
}

function ttlOf(given: string | number | undefined): number {
  const parsed = ttl.safeParse(given ?? DEFAULT_TTL_MS);
  if (parsed.success) return parsed.data;
  throw failure('INVALID_ARGUMENT', { what: 'body.expiresIn', problem: `it is ${JSON.stringify(given)}`, fix: 'Give 1m to 24h, such as 1h' });
}
