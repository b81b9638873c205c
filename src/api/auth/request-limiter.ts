import type { FastifyRequest } from 'fastify';
import { failure } from '../../contracts/errors.ts';
import type { LimitRows } from '../../store/service/limits.ts';
import type { HeldLimits, LimitsOfCaller } from './limits-of-caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Limits of the caller. */
    held: readonly HeldLimits[];
  }
}

/** Counts a request for its caller, and refuses it beyond the limits of the key or tenant. @throws LIMIT_REACHED */
export type RequestLimiter = (request: Pick<FastifyRequest, 'caller' | 'held'>) => Promise<void>;

/** Requests are counted at all processes together. */
export function createRequestLimiter(limitsOf: LimitsOfCaller, rows: Pick<LimitRows, 'count'>): RequestLimiter {
  return async (request) => {
    request.held = await limitsOf(request.caller);
    const limited = request.held.filter(({ limits }) => limits.requestsPerMinute !== undefined);
    if (limited.length === 0) return;
    const counts = await rows.count(limited.map(({ subject }) => subject));
    for (const [index, { subject, limits }] of limited.entries()) {
      const { requests = 0, secondsLeft = 1 } = counts[index] ?? {};
      const { requestsPerMinute: allowed = 0 } = limits;
      if (requests > allowed) throw failure('LIMIT_REACHED', { limit: 'requestsPerMinute', of: nameOf(subject), allowed, retryAfter: secondsLeft });
    }
  };
}

function nameOf(subject: HeldLimits['subject']): string {
  return 'tenant' in subject ? 'tenant' : 'key';
}
