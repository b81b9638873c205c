import type { FastifyRequest } from 'fastify';
import { Tally } from '../../common/tally.ts';
import { failure } from '../../contracts/errors.ts';
import { BODIES_PER_KEY } from './limits.ts';
import type { Api } from './route-parts.ts';

/** Refuses a request when many bodies of its key are on their way: slow ones would hold all connections. Comes after authentication. */
export function limitBodies(api: Api): void {
  const coming = new Tally();
  api.addHook('onRequest', async (request) => {
    const { raw } = request;
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    if (!caller || raw.complete || raw.destroyed) return;
    const { keyId } = caller;
    if (coming.of(keyId) >= BODIES_PER_KEY) throw failure('UPLOAD_LIMIT', { limit: BODIES_PER_KEY });
    coming.add(keyId, 1);
    const leave = () => {
      raw.off('end', leave).off('close', leave);
      coming.add(keyId, -1);
    };
    raw.once('end', leave).once('close', leave);
  });
}
