import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ClientParts } from '../../client/create-longshore.ts';
import type { Longshore } from '../../client/types.ts';
import type { Logger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import type { FrameReader } from '../stream/event-frames.ts';
import type { OpenStreams } from '../stream/open-streams.ts';

/** What the routes use. */
export interface RouteParts {
  client: ClientParts;
  longshore: Longshore;
  store: Store;
  streams: OpenStreams;
  readFrames: FrameReader;
  /** Aborts when the process begins to stop; it still takes requests for a while. */
  stopping: AbortSignal;
  /** Aborts when requests under way must come to an end. */
  closing: AbortSignal;
}

export type Api = FastifyInstance<Server, IncomingMessage, ServerResponse, Logger, ZodTypeProvider>;
