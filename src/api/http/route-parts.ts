import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ClientParts } from '../../client/create-longshore.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import type { Longshore } from '../../client/types.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import type { Logger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import type { RequestLimiter } from '../auth/request-limiter.ts';
import type { PreviewSite } from './preview-site.ts';
import type { Downloads } from '../stream/downloads.ts';
import type { FrameReader } from '../stream/event-frames.ts';
import type { OpenStreams } from '../stream/open-streams.ts';
import type { StreamTimes } from '../stream/stream-times.ts';

/** What the routes use. */
export interface RouteParts {
  client: ClientParts;
  /** For what changes nothing that the audit log notes. */
  longshore: Longshore;
  /** Makes changes in the name of the request's caller, and another attempt of a request with an `Idempotency-Key` without another effect on its conversation. */
  longshoreFor: (request: Pick<FastifyRequest, 'caller' | 'id' | 'once'>) => Longshore;
  /** The same for a caller who has no key. */
  longshoreBy: (source: AuditSource) => Longshore;
  /** Where callers reach the service, such as `https://longshore.example`. */
  addressOf: (request: Pick<FastifyRequest, 'host'>) => string;
  store: Store;
  /** The sandboxes, through the workers of their hosts. */
  hosts: HostClient;
  streams: OpenStreams;
  downloads: Downloads;
  /** For routes that learn only by themselves who calls. */
  limit: RequestLimiter;
  readFrames: FrameReader;
  /** Origins of Temporal's UI, whose pages may ask the codec. */
  codecOrigins: readonly string[];
  /** Addresses of authorization servers of MCP servers that are allowed although they are not public. */
  oauthAddresses: string[];
  log: Logger;
  /** Hosts for previews of ports; absent: they are below a path of the service. */
  previews: PreviewSite | undefined;
  /** A connection to a sandbox over which nothing goes for so long is closed, in milliseconds. */
  idleMs: number;
  times: StreamTimes;
  /** Aborts when the process begins to stop; it still takes requests for a while. */
  stopping: AbortSignal;
  /** Aborts when requests under way must come to an end. */
  closing: AbortSignal;
}

export type Api = FastifyInstance<Server, IncomingMessage, ServerResponse, Logger, ZodTypeProvider>;
