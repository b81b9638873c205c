import { createLongshore, type ClientParts } from '../client/create-longshore.ts';
import type { Logger } from '../platform/log.ts';
import { addAuthentication } from './http/authenticate.ts';
import { createServer } from './http/create-server.ts';
import type { Api, RouteParts } from './http/route-parts.ts';
import { addAgentRoutes } from './routes/agents.ts';
import { addApprovalRoutes } from './routes/approvals.ts';
import { addControlRoutes } from './routes/control.ts';
import { addConversationViews } from './routes/conversation-views.ts';
import { addConversationRoutes } from './routes/conversations.ts';
import { addEventRoutes } from './routes/events.ts';
import { addHealthRoutes } from './routes/health.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addPluginRoutes } from './routes/plugins.ts';
import { addScheduleRoutes } from './routes/schedules.ts';
import { addTurnRoutes } from './routes/turns.ts';
import { createFrameReader } from './stream/event-frames.ts';
import { createOpenStreams } from './stream/open-streams.ts';

export interface ApiParts {
  /** The connections of the client; the service does not close them. */
  client: ClientParts;
  log: Logger;
  /** The version that the OpenAPI document names. */
  version: string;
  /** Aborts when the process begins to stop: `/readyz` says so from then on. */
  stopping: AbortSignal;
  limits?: Partial<ApiLimits>;
}

export interface ApiLimits {
  /** Streams that one key may have open at this process. */
  streamsPerKey: number;
}

const ROUTES = [
  addHealthRoutes,
  addConversationRoutes,
  addConversationViews,
  addTurnRoutes,
  addEventRoutes,
  addControlRoutes,
  addApprovalRoutes,
  addScheduleRoutes,
  addAgentRoutes,
  addPluginRoutes,
  addKeyRoutes,
];
const DEFAULT_LIMITS: ApiLimits = { streamsPerKey: 100 };
/** Time for the answers to requests under way when the process stops. Then connections that still take no bytes are closed. */
const LAST_ANSWERS_MS = 15_000;
/** Callers do not learn where the service keeps its files. */
const AGENTS_PLACE = "the service's directory of agents";

/** The HTTP service. It keeps no state of its own: any process answers any request. */
export async function createApi({ client: given, log, version, stopping, limits }: ApiParts): Promise<Api> {
  const client = { ...given, agents: { ...given.agents, directory: AGENTS_PLACE } };
  const { store } = client;
  const { streamsPerKey } = { ...DEFAULT_LIMITS, ...limits };
  const streams = createOpenStreams({ perOwner: streamsPerKey });
  const closing = new AbortController();
  const parts: RouteParts = {
    client,
    longshore: createLongshore(client),
    store,
    streams,
    readFrames: createFrameReader(store.events),
    stopping,
    closing: closing.signal,
  };
  const api = await createServer(log, version);
  addAuthentication(api, store.apiKeys);
  api.addHook('preClose', async () => {
    closing.abort();
    await streams.close();
    setTimeout(() => api.server.closeAllConnections(), LAST_ANSWERS_MS).unref();
  });
  for (const add of ROUTES) add(api, parts);
  await api.ready();
  return api;
}
