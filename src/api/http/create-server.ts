import { randomUUID } from 'node:crypto';
import swagger from '@fastify/swagger';
import fastify, { LogController, type FastifyReply, type FastifyRequest } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject, serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { read } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { BODY_LIMIT, parseBody, problemOf } from './problem.ts';
import type { Api } from './route-parts.ts';

/** Time for a request's head and for the whole of it, in milliseconds: one that is sent slowly holds no connection for long. */
const HEAD_MS = 10_000;
const REQUEST_MS = 60_000;
/** A connection that sends no other request is closed after so many milliseconds. */
const IDLE_MS = 30_000;
const CONNECTIONS = 10_000;
const PARAMETER_LENGTH = 300;

/** A server without routes: how requests are read, checked and refused, and how the API is described. */
export async function createServer(log: Logger, version: string): Promise<Api> {
  const tell = (error: unknown, request: Pick<FastifyRequest, 'id' | 'url'>, reply: FastifyReply) => {
    const { problem, isOurs } = problemOf(error, request.id);
    if (isOurs) log.error({ err: error, request: request.id }, 'a request failed');
    void reply.code(problem.status).type('application/problem+json').serializer(JSON.stringify).send(problem);
  };
  const server = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    // A HEAD of a stream would stay open without ever saying anything.
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    http: { headersTimeout: HEAD_MS },
    routerOptions: { maxParamLength: PARAMETER_LENGTH },
    frameworkErrors: tell,
  });
  server.server.maxConnections = CONNECTIONS;
  server.setErrorHandler(tell);
  server.setNotFoundHandler(({ method, url }) => {
    throw failure('ROUTE_NOT_FOUND', { method, path: url.split('?', 1)[0]?.slice(0, 200) ?? '' });
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<string>('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, body: string) => parseBody(body));
  server.setValidatorCompiler<z.ZodType>(({ schema, httpPart = 'request' }) => (data: unknown) => {
    try {
      // Fastify says null where there is no body.
      return { value: read(httpPart === 'querystring' ? 'query' : httpPart, schema, data ?? undefined) };
    } catch (error) {
      return { error: error as Error };
    }
  });
  server.setSerializerCompiler(serializerCompiler);
  server.addHook('onSend', async (_request, reply) => {
    void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  });
  await server.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Longshore', version, description: 'Agent conversations that survive anything.' } },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  return server.withTypeProvider<ZodTypeProvider>();
}
