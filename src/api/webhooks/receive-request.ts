import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { WEBHOOK_PATH } from '../../client/plugin-webhook-calls.ts';
import { failure } from '../../contracts/errors.ts';
import { makeId } from '../../contracts/ids.ts';
import { MOST_A_MINUTE, MOST_BODY_BYTES } from '../../contracts/plugins/webhook.ts';
import type { PluginWebhookRows } from '../../store/service/plugin-webhooks.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';

/** What senders name a request by, so that one that is repeated is known: Standard Webhooks, the draft of the IETF, GitHub. */
const IDS = ['webhook-id', 'idempotency-key', 'x-github-delivery'];
/** What is about the connection, and what could be a secret of something else behind the same address. */
const LEFT_OUT = new Set(['connection', 'cookie', 'expect', 'host', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade']);
const KEY_OF_SERVICE = /lsk_[0-9A-Za-z]/;
const RETRY_SECONDS = 60;

/** Takes requests of outside systems to functions of plugins. They are stored, and a worker delivers them: this process may die as soon as it has answered. */
export function addPluginRequestRoute(api: Api, { store }: RouteParts): void {
  void api.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MOST_BODY_BYTES }, (_request, body, done) => done(null, body));
    (scope as unknown as Api).post(
      `${WEBHOOK_PATH}:token`,
      {
        bodyLimit: MOST_BODY_BYTES,
        config: { scope: 'none', link: 'plugin', takesBytes: true, repeated: 'ids', errors: ['LINK_ENDED', 'BODY_TOO_LARGE', 'PLUGIN_WEBHOOK_BUSY'] },
        schema: {
          summary: 'Send a request to a function of a plugin',
          description:
            'Needs no key: the address is the secret. The body may be anything, up to 1,000,000 bytes. 202 means that the request is stored; a worker delivers it. ' +
            'A request with the same `webhook-id`, `idempotency-key` or `x-github-delivery` within a day is the same request, unless it has failed.',
          tags: ['plugins'],
          params: z.object({ token: z.string().meta({ description: 'As the address has it', example: 'lsw_…' }) }),
          response: {
            202: z.object({ requestId: z.string(), repeated: z.boolean().meta({ description: 'It was sent before, and is not delivered again' }) }),
            ...refusals,
          },
        },
      },
      async (request, reply) => {
        const accepted = await store.pluginWebhooks.accept(request.pluginWebhook.webhookId, requestOf(request));
        if (!('requestId' in accepted)) throw refusalOf(accepted.outcome);
        return reply.code(202).send({ requestId: accepted.requestId, repeated: accepted.outcome === 'known' });
      },
    );
  });
}

function refusalOf(outcome: 'full' | 'often' | 'ended'): Error {
  if (outcome === 'ended') return failure('LINK_ENDED', { problem: 'is not valid' });
  const problem = outcome === 'full' ? 'as many requests wait to be delivered as may' : `it has taken ${MOST_A_MINUTE} within a minute, as many as it may`;
  return failure('PLUGIN_WEBHOOK_BUSY', { problem, retryAfter: RETRY_SECONDS });
}

function requestOf({ headers, body }: FastifyRequest): Parameters<PluginWebhookRows['accept']>[1] {
  const said = Object.entries(headers).flatMap(([header, value]) => {
    const text = Array.isArray(value) ? value.join(', ') : value;
    return text === undefined || LEFT_OUT.has(header) || KEY_OF_SERVICE.test(text) ? [] : [[header, text] as const];
  });
  const sent = IDS.flatMap((header) => (typeof headers[header] === 'string' && headers[header] !== '' ? [`${header}: ${headers[header]}`] : []));
  return {
    requestId: makeId('req', Date.now(), Math.random),
    headers: Object.fromEntries(said),
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    ...(sent.length > 0 && { senderSha256: createHash('sha256').update(JSON.stringify(sent)).digest() }),
  };
}
