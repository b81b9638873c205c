import type { FastifyRequest } from 'fastify';
import { Tally } from '../../common/tally.ts';
import { failure } from '../../contracts/errors.ts';
import { UNREAD_BYTES } from './limits.ts';
import type { Api } from './route-parts.ts';

/** An answer of up to so many bytes is always given, such as a refusal. */
const SMALL_BYTES = 16_384;

/** Refuses a request of a key that does not read the answers to others, since they are kept in memory until it does. Comes after authentication. */
export function limitAnswers(api: Api): void {
  const unread = new Tally();
  const refuse = (keyId: string) => {
    if (unread.of(keyId) >= UNREAD_BYTES) throw failure('ANSWERS_UNREAD', { limit: UNREAD_BYTES });
  };
  api.addHook('onRequest', async (request) => {
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    if (caller) refuse(caller.keyId);
  });
  api.addHook('onSend', async ({ caller, method }, { raw }, payload) => {
    if (typeof payload !== 'string' || payload.length <= SMALL_BYTES || !(caller as FastifyRequest['caller'] | undefined)) return payload;
    const { keyId } = caller;
    // What has been changed is told in any case.
    if (method === 'GET') refuse(keyId);
    unread.add(keyId, payload.length);
    raw.once('close', () => unread.add(keyId, -payload.length));
    return payload;
  });
}
