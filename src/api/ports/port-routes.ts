import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import { LAST_PORT } from '../../hosts/channel/calls.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { targetOf } from '../sandbox/target-of.ts';
import { forward } from './forward.ts';
import { pathPlace } from './place.ts';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** What comes before the guest's path. */
const BEFORE = /^(?:\/[^/?]*){5}(?=\/)/;
const port = z.coerce.number().int().min(1).max(LAST_PORT);

/** The servers of sandboxes, for programs that have a key. */
export function addPortRoutes(api: Api, { store, hosts, streams, addressOf, idleMs, times, closing }: RouteParts): void {
  void api.register(async (scope) => {
    takeAnyBody(scope as unknown as Api);
    scope.route({
      method: METHODS,
      url: '/v1/conversations/:id/ports/:port/*',
      config: { scope: 'ports:connect', streamsBody: true, repeated: 'passed' },
      // The guest says what it takes and answers.
      schema: { hide: true },
      async handler(request, reply) {
        const { id, port: text } = request.params as { id: string; port: string };
        const target = await targetOf(store, request.caller, id);
        const [prefix = ''] = BEFORE.exec(request.raw.url ?? '') ?? [];
        const place = pathPlace(prefix, { isSecure: addressOf(request).startsWith('https:'), isSecret: false });
        const forwarded = {
          target,
          port: portOf(text),
          path: (request.raw.url ?? '').slice(prefix.length),
          place,
          idleMs,
          stalledMs: times.stalledMs,
          closing,
        };
        await streams.wait(request.caller.keyId, () => forward(hosts, forwarded, request, reply), leastOf(request.held, 'streams'));
        return reply;
      },
    });
  });
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
