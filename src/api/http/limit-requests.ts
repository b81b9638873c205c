import type { FastifyRequest } from 'fastify';
import { failure } from '../../contracts/errors.ts';
import type { LimitRows } from '../../store/service/limits.ts';
import type { Api } from './route-parts.ts';
import type { HeldLimits, LimitsOfCaller } from '../auth/limits-of-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Limits of the caller. */
    held: readonly HeldLimits[];
  }
}

/** Refuses requests beyond the limits of their key or tenant, counted at all processes together. Comes after authentication. */
export function limitRequests(api: Api, limitsOf: LimitsOfCaller, rows: Pick<LimitRows, 'count'>): void {
  api.decorateRequest('held');
  api.addHook('onRequest', async (request) => {
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    request.held = caller ? await limitsOf(caller) : [];
    const limited = request.held.filter(({ limits }) => limits.requestsPerMinute !== undefined);
    if (limited.length === 0) return;
    const counts = await rows.count(limited.map(({ subject }) => subject));
    for (const [index, { subject, limits }] of limited.entries()) {
      const { requests = 0, secondsLeft = 1 } = counts[index] ?? {};
      const { requestsPerMinute: allowed = 0 } = limits;
      if (requests > allowed) throw failure('LIMIT_REACHED', { limit: 'requestsPerMinute', of: nameOf(subject), allowed, retryAfter: secondsLeft });
    }
  });
}

export function nameOf(subject: HeldLimits['subject']): string {
  return 'tenant' in subject ? 'tenant' : 'key';
}
