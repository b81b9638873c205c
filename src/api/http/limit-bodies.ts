import type { FastifyRequest } from 'fastify';
import { Tally } from '../../common/tally.ts';
import { failure } from '../../contracts/errors.ts';
import { BODIES_PER_KEY, BODY_BYTES_PER_KEY } from './limits.ts';
import type { Api } from './route-parts.ts';

/** Refuses a request when many bodies of its key are on their way, or long ones: slow ones would hold all connections, and their bytes the memory. Comes after authentication. */
export function limitBodies(api: Api): void {
  const coming = new Tally();
  const bytes = new Tally();
  api.addHook('onRequest', async (request) => {
    const { raw } = request;
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    if (!caller || raw.complete || raw.destroyed) return;
    const { keyId } = caller;
    if (coming.of(keyId) >= BODIES_PER_KEY) throw failure('UPLOAD_LIMIT', { limit: BODIES_PER_KEY });
    const size = heldBytes(request);
    // One is always taken, however long it may be.
    if (bytes.of(keyId) > 0 && bytes.of(keyId) + size > BODY_BYTES_PER_KEY) throw failure('UPLOAD_LIMIT', { limit: `${BODY_BYTES_PER_KEY} bytes of` });
    coming.add(keyId, 1);
    bytes.add(keyId, size);
    const leave = () => {
      raw.off('end', leave).off('close', leave);
      coming.add(keyId, -1);
      bytes.add(keyId, -size);
    };
    raw.once('end', leave).once('close', leave);
  });
}

/** What a body may take up until it is there as a whole: as long as it says, or as its route allows. A stream is not kept. */
function heldBytes({ headers, routeOptions: { config, bodyLimit } }: FastifyRequest): number {
  if (config.streamsBody) return 0;
  const said = Number(headers['content-length'] ?? bodyLimit);
  return Number.isFinite(said) ? Math.min(Math.max(0, said), bodyLimit) : bodyLimit;
}
