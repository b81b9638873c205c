import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import { LAST_PORT } from '../../hosts/channel/calls.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationId, refusals } from '../routes/schemas.ts';
import { PORT_ERRORS } from '../sandbox/sandbox-errors.ts';
import { targetOf } from '../sandbox/target-of.ts';
import { forward } from './forward.ts';
import { pathPlace } from './place.ts';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Of an address that a request names as a whole, as requests to proxies do. */
const ORIGIN = /^https?:\/\/[^/?]*/i;
/** What comes before the guest's path. */
const BEFORE = /^(?:\/[^/?]*){5}(?=\/)/;
const port = z.coerce.number().int().min(1).max(LAST_PORT);

const CONFIG = { scope: 'ports:connect', streamsBody: true, repeated: 'passed', errors: PORT_ERRORS } as const;
const ROUTE = '/v1/conversations/:id/ports/:port/*';

/** The servers of sandboxes, for programs that have a key. */
export function addPortRoutes(api: Api, parts: RouteParts): void {
  void api.register(async (given) => {
    const scope = given as unknown as Api;
    takeAnyBody(scope);
    const handler = (request: FastifyRequest, reply: FastifyReply) => answer(parts, request, reply);
    scope.route({ method: 'GET', url: ROUTE, config: { ...CONFIG, methods: METHODS, mediaType: '*/*' }, schema: DESCRIBED, handler });
    scope.route({ method: METHODS.filter((method) => method !== 'GET'), url: ROUTE, config: CONFIG, schema: { hide: true }, handler });
  });
}

/** A document of all methods would say the same seven times. The guest says what it takes and answers. */
const DESCRIBED = {
  summary: 'Ask a program that listens on a port of the sandbox',
  description:
    `Any of the methods ${METHODS.join(', ')}, with any query, headers and body, and also a WebSocket. The answer is what the program answers, ` +
    'without what would have an effect beyond it, such as cookies for other paths.',
  tags: ['previews'],
  params: z.object({
    id: conversationId,
    port: z.string().meta({ description: `1 to ${LAST_PORT}`, example: '3000' }),
    '*': z.string().meta({ description: 'The path that the program is asked for', example: 'api/items' }),
  }),
  response: { default: z.any().meta({ description: 'Any status: what the program answers', example: 'What the program answers' }), ...refusals },
};

async function answer(
  { store, hosts, streams, addressOf, idleMs, times, closing }: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, port: text } = request.params as { id: string; port: string };
  const target = await targetOf(store, request.caller, id);
  const address = (request.raw.url ?? '').replace(ORIGIN, '');
  const [prefix = ''] = BEFORE.exec(address) ?? [];
  const place = pathPlace(prefix, { isSecure: addressOf(request).startsWith('https:'), isSecret: false });
  const path = address.slice(prefix.length);
  const forwarded = { target, port: portOf(text), path, place, idleMs, stalledMs: times.stalledMs, closing };
  await streams.wait(request.caller.keyId, () => forward(hosts, forwarded, request, reply), leastOf(request.held, 'streams'));
  return reply;
}

/** The body is for the guest, and never parsed here. */
export function takeAnyBody(scope: Api): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

function portOf(text: string): number {
  const parsed = port.safeParse(text);
  if (parsed.success && /^\d+$/.test(text)) return parsed.data;
  throw failure('INVALID_ARGUMENT', { what: 'params.port', problem: `it is ${JSON.stringify(text)}`, fix: `Give a number from 1 to ${LAST_PORT}` });
}
