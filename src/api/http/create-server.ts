import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { LogController, type FastifyReply, type FastifyRequest } from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { read } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { keyInPath } from '../auth/key-in-path.ts';
import { createAccessLog, type EndedRequest } from './access-log.ts';
import { limitBodyTime } from './body-time.ts';
import { inTurn } from './in-turn.ts';
import { HEAD_BYTES, HEAD_CHECK_MS, HEAD_MS, IDLE_MS, type ConnectionLimits } from './limits.ts';
import { createPlaces } from './places.ts';
import { BODY_LIMIT, parseBody, problemOf, retryOf } from './problem.ts';
import { INNER_PATH, type PreviewSite } from './preview-site.ts';
import { refuseConnection } from './refuse-connection.ts';
import type { Api } from './route-parts.ts';
import { Request, routeUpgrades } from './upgrades.ts';
import { STREAM_TIMES } from '../stream/stream-times.ts';

const PARAMETER_LENGTH = 300;
const OF_ALL_ANSWERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** No other route answers on a host of previews. What is no path has no route there either. */
function onPreviewHost(url: string): string {
  return url.startsWith('/') ? INNER_PATH + url : INNER_PATH;
}

export interface ServerParts {
  log: Logger;
  limits: ConnectionLimits;
  previews: PreviewSite | undefined;
  /** Called for each request whose answer or connection has ended. */
  ended: (request: EndedRequest) => void;
}

/** A server without routes: how requests are read, checked and refused. */
export function createServer({ log, limits, previews, ended }: ServerParts): Api {
  const access = createAccessLog(log, ended);
  const tell = (error: unknown, request: Pick<FastifyRequest, 'id' | 'url' | 'routeOptions'>, reply: FastifyReply) => {
    const { problem, isOurs } = problemOf(error, request);
    if (isOurs) log.error({ err: error, request: request.id }, 'a request failed');
    void reply.headers(retryOf(problem));
    void reply.code(problem.status).type('application/problem+json').serializer(JSON.stringify).send(problem);
  };
  const server = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    // A HEAD of a stream would stay open without ever saying anything.
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT,
    rewriteUrl: (request) => (previews?.has(request.headers.host) ? onPreviewHost(request.url ?? '') : keyInPath(request)),
    serverFactory: (handle) =>
      listenerOf((request, response) => {
        access.follow(request, response);
        handle(request, response);
      }, limits),
    routerOptions: { maxParamLength: PARAMETER_LENGTH },
    frameworkErrors(error, request, reply) {
      access.know(request);
      // No hook runs for an address that cannot be read.
      void reply.headers(OF_ALL_ANSWERS);
      tell(error, request, reply);
    },
    clientErrorHandler: refuseConnection,
    // Fastify's own answer is no problem; a hook gives ours.
    return503OnClosing: false,
  });
  routeUpgrades(server, access);
  server.addHook('onRequest', async (request) => access.know(request));
  // What a request expects besides `100-continue` means nothing here.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
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
  // An option that is written into the query, and belongs into the body, would mean nothing: somebody's file would be written for everybody.
  server.addHook('onRoute', ({ url, schema }) => {
    if (url.startsWith('/v1/') && schema?.body !== undefined) schema.querystring ??= z.strictObject({});
  });
  limitBodyTime(server);
  server.setSerializerCompiler(serializerCompiler);
  server.addHook('onSend', async (request, reply) => {
    // A caller that asks and does not take the answer; Node.js sets the time anew when it has been taken.
    reply.raw.socket?.setTimeout(STREAM_TIMES.stalledMs);
    // The end of a connection over which the caller still sends could cost it the answer.
    if (!request.raw.complete) void reply.removeHeader('connection');
    void reply.headers(OF_ALL_ANSWERS);
  });
  return server.withTypeProvider<ZodTypeProvider>();
}

function listenerOf(handle: RequestListener, limits: ConnectionLimits): Server {
  const places = createPlaces(limits);
  // The time of a whole request is limited for each route.
  const times = { headersTimeout: HEAD_MS, connectionsCheckingInterval: HEAD_CHECK_MS, requestTimeout: 0, keepAliveTimeout: IDLE_MS };
  const server = createHttpServer({ ...times, maxHeaderSize: HEAD_BYTES, IncomingMessage: Request }, inTurn(handle, places));
  // A WebSocket is no connection that waits for a request.
  server.on('upgrade', (_request, socket: Socket) => places.begin(socket));
  // Called when the server stops. Node.js counts a connection without any request as busy, and would wait for it.
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    places.closeUnused();
  };
  return server.on('connection', (socket) => places.take(socket));
}
