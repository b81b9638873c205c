import { createHash, randomUUID } from 'node:crypto';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { failure } from '../../contracts/errors.ts';
import { startRounds } from '../../platform/start-rounds.ts';
import type { RepeatableRequest, RequestAnswers } from '../../store/service/request-answers.ts';
import { idempotencyKeyOf } from './idempotency.ts';
import type { Api } from './route-parts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What a repetition of a request with the same `Idempotency-Key` is given; each POST of a caller says it. `answer`: what the first was. `once`: an error, since
     * the answer has a secret and is not kept. `ids`: the route takes care by itself, by ids that it makes of the key or is sent. `harmless`: the route changes
     * nothing, and needs no key. `passed`: the key is passed on to a guest. `refused`: it takes no key, since its body is not read as a whole and cannot be compared.
     */
    repeated?: 'answer' | 'once' | 'ids' | 'harmless' | 'passed' | 'refused';
  }
  interface FastifyRequest {
    /** While the first request with its key is in progress. */
    repeatable: RepeatableRequest | undefined;
    /** The same for each attempt of a request with a key whose first attempts were cut off. */
    once: string | undefined;
  }
}

/** Several times in the minute after which a request that nothing is heard of counts as abandoned, so that Postgres may be away for a while. */
const KEEP_EVERY_MS = 10_000;

/** Lets a request with an `Idempotency-Key` take effect once. Comes after authentication, in the scope of the tenant. */
export function addRepeatedRequests(api: Api, answers: RequestAnswers): void {
  api.decorateRequest('repeatable');
  api.decorateRequest('once');
  const inProgress = keepInProgress(api, answers);
  api.addHook('preHandler', async (request, reply) => {
    const { repeated } = request.routeOptions.config;
    const key = keepsAnswers(repeated) || repeated === 'refused' ? idempotencyKeyOf(request.headers) : undefined;
    if (key === undefined) return undefined;
    if (repeated === 'refused') throw failure('INVALID_ARGUMENT', { what: 'Idempotency-Key', problem: 'this route takes none', fix: 'Leave it out' });
    const repeatable = repeatableOf(request, key);
    const found = await answers.begin(repeatable);
    if (found.state === 'other') throw failure('IDEMPOTENCY_MISMATCH', { key });
    if (found.state === 'running') throw failure('IDEMPOTENCY_RUNNING', { key });
    if (found.state === 'answered') {
      if (found.body === undefined) throw failure('IDEMPOTENCY_ONCE', { key });
      return reply.code(found.status).header('idempotency-replayed', 'true').type('application/json; charset=utf-8').send(found.body);
    }
    request.repeatable = repeatable;
    request.once = found.first;
    inProgress.add(repeatable);
    return undefined;
  });
  // Before the answer is sent, so that a repetition after the answer finds it.
  api.addHook('onSend', async (request, reply, payload) => {
    const { repeatable } = request;
    if (!repeatable) return payload;
    request.repeatable = undefined;
    const isKept = request.routeOptions.config.repeated === 'answer' && typeof payload === 'string';
    try {
      // What was refused or failed may be tried again.
      if (reply.statusCode >= 500) await answers.giveUp(repeatable);
      else if (reply.statusCode >= 300) await answers.release(repeatable);
      else await answers.answer(repeatable, reply.statusCode, isKept ? payload : undefined);
    } finally {
      inProgress.delete(repeatable);
    }
    return payload;
  });
}

/** What is added is said to be in progress until it is deleted again. */
function keepInProgress(api: Api, answers: RequestAnswers): Set<RepeatableRequest> {
  const inProgress = new Set<RepeatableRequest>();
  const rounds = startRounds({
    everyMs: KEEP_EVERY_MS,
    work: async () => {
      if (inProgress.size > 0) await answers.keep(inProgress);
    },
    onFailure: (error) => api.log.warn({ err: error }, 'it could not be said that requests with an Idempotency-Key are in progress'),
  });
  api.addHook('onClose', () => rounds.stop());
  return inProgress;
}

/** Whether requests to a route are noted, so that a key takes effect once. */
export function keepsAnswers(repeated: FastifyContextConfig['repeated']): boolean {
  return repeated === 'answer' || repeated === 'once';
}

function repeatableOf({ caller, method, url, body }: FastifyRequest, key: string): RepeatableRequest {
  // Users of one tenant do not share keys. A hash, since paths and keys may be long, and may name people.
  const request = hashOf([caller.userId ?? null, method, url.split('?', 1)[0], key]);
  return { tenantId: caller.tenantId ?? '', request, fingerprint: hashOf([url, body ?? null]), holder: randomUUID() };
}

function hashOf(parts: unknown[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
