import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, type Problem } from './problem.ts';

/** How routes of other protocols tell errors. */
export type Refusal = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void;

/** As a short text: clients of the AI SDK show the body of an error as its message. */
export const refuseAsText: Refusal = (error, request, reply) => {
  const { status, detail, code } = tell(error, request);
  void reply.code(status).header('x-longshore-error', code).type('text/plain; charset=utf-8').serializer(String).send(detail);
};

/** As OpenAI's API tells errors. Its clients repeat requests by themselves, unless the answer says that this is of no use. */
export const refuseAsOpenAi: Refusal = (error, request, reply) => {
  const problem = tell(error, request);
  void reply
    .code(problem.status)
    .header('x-should-retry', reply.getHeader('x-should-retry') ?? String(problem.retryable))
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(openAiErrorOf(problem));
};

/** The error that a client of OpenAI's API understands. */
export function openAiErrorOf({ status, detail, code }: Pick<Problem, 'status' | 'detail' | 'code'>) {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  return { error: { message: detail, type, param: null, code } };
}

function tell(error: unknown, request: FastifyRequest): Problem {
  const { problem, isOurs } = problemOf(error, request);
  if (isOurs) request.log.error({ err: error, request: request.id }, 'a request failed');
  return problem;
}
