import { createLongshore, type ClientParts } from '../client/create-longshore.ts';
import { createHostClient } from '../hosts/client/host-client.ts';
import type { Limits } from '../contracts/limits/limits.ts';
import { failure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Tracing } from '../traces/tracing.ts';
import { createOidcVerifier } from './auth/oidc.ts';
import type { OidcOptions } from './auth/oidc-options.ts';
import { sourceOf } from './auth/caller.ts';
import { addCodecRoutes } from './codec/codec.ts';
import { addDescription } from './description/add-description.ts';
import { addApprovalLinkRoutes } from './approvals/link-routes.ts';
import { addApprovalPages } from './approvals/link-pages.ts';
import { createAddressOf } from './http/address-of.ts';
import { addLimitRoutes } from './routes/limits.ts';
import { CONNECTIONS, type ConnectionLimits } from './http/limits.ts';
import { limitAnswers } from './http/limit-answers.ts';
import { limitBodies } from './http/limit-bodies.ts';
import { limitRequests } from './http/limit-requests.ts';
import { createRequestLimiter } from './auth/request-limiter.ts';
import { createLimitsOfCaller } from './auth/limits-of-caller.ts';
import { addDocsPage } from './description/docs-page.ts';
import { addAuthentication } from './http/authenticate.ts';
import { addRepeatedRequests } from './http/repeated-requests.ts';
import { addTenantScope } from './http/tenant-scope.ts';
import { createServer } from './http/create-server.ts';
import type { Api, RouteParts } from './http/route-parts.ts';
import { createApiMetrics } from './observe/api-metrics.ts';
import { addMetricsRoute } from './observe/metrics-route.ts';
import { traceRequests } from './observe/trace-requests.ts';
import { addAgentRoutes } from './routes/agents.ts';
import { addApprovalRoutes } from './routes/approvals.ts';
import { addAttachmentRoutes } from './routes/attachments.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addChatRoutes } from './routes/chat/chat.ts';
import { addCheckpointRoutes } from './routes/checkpoints.ts';
import { addForkRoutes } from './routes/forks.ts';
import { addControlRoutes } from './routes/control.ts';
import { addClientToolRoutes } from './routes/client-tools.ts';
import { addConversationViews } from './routes/conversation-views.ts';
import { addConversationRoutes } from './routes/conversations.ts';
import { addEventRoutes, addTreeEventRoute } from './routes/events.ts';
import { addHealthRoutes } from './routes/health.ts';
import { addMemoryRoutes } from './routes/memory.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addCompletionRoutes } from './routes/openai/completions.ts';
import { addModelRoutes } from './routes/openai/models.ts';
import { addPluginRoutes } from './routes/plugins.ts';
import { addScheduleRoutes } from './routes/schedules.ts';
import { addTurnRoutes } from './routes/turns.ts';
import { addUsageRoutes } from './usage/usage.ts';
import { addCommandRoutes } from './sandbox/command-routes.ts';
import { addCommandStreamRoutes } from './sandbox/command-stream-routes.ts';
import { addDiffRoute } from './sandbox/diff-route.ts';
import { addExportRoute } from './sandbox/export-route.ts';
import { addImportRoute } from './sandbox/import-route.ts';
import { addFileRoutes } from './sandbox/file-routes.ts';
import { addSandboxRoute } from './sandbox/sandbox-route.ts';
import { addFileContentRoutes } from './sandbox/file-content-routes.ts';
import { addFileLinkRoutes } from './sandbox/file-link-routes.ts';
import { addLinkedFileRoutes } from './sandbox/linked-file-routes.ts';
import { addPortRoutes } from './ports/port-routes.ts';
import { addPreviewLinkRoutes } from './ports/preview-links.ts';
import { addPreviewRoutes } from './ports/preview-routes.ts';
import { createPreviewSite } from './http/preview-site.ts';
import { addTerminalRoutes } from './terminals/terminal-routes.ts';
import { addPluginWebhookRoutes } from './webhooks/plugin-webhooks.ts';
import { addPluginRequestRoute } from './webhooks/receive-request.ts';
import { addWebhookDeliveryRoutes } from './webhooks/webhook-deliveries.ts';
import { addWebhookRoutes } from './webhooks/webhooks.ts';
import { addSignInPages } from './sign-ins/sign-in-pages.ts';
import { createDownloads } from './stream/downloads.ts';
import { createFrameReader } from './stream/event-frames.ts';
import { createOpenStreams } from './stream/open-streams.ts';
import { STREAM_TIMES, type StreamTimes } from './stream/stream-times.ts';

export interface ApiParts {
  /** The connections of the client; the service does not close them. */
  client: ClientParts;
  log: Logger;
  /** The version that the OpenAPI document names. */
  version: string;
  /** Aborts when the process begins to stop: `/readyz` says so from then on. */
  stopping: AbortSignal;
  /** An issuer of tokens; without one, callers have keys. */
  oidc?: OidcOptions | undefined;
  /** LONGSHORE_PUBLIC_URL. */
  publicUrl?: string | undefined;
  /** LONGSHORE_PREVIEW_URL. */
  previewUrl?: string | undefined;
  limits?: Partial<ApiLimits>;
  /** Origins of Temporal's UI; default: none. */
  codecOrigins?: readonly string[];
  /** Addresses of authorization servers of MCP servers that are allowed although they are not public; default: none. */
  oauthAddresses?: string[];
  /** Receives spans of requests that lead to a turn; absent when nothing is traced. */
  tracing?: Tracing | undefined;
}

export interface ApiLimits {
  /** Streams that one key may have open at this process. */
  streamsPerKey: number;
  /** A connection to a sandbox over which nothing goes for so long is closed, in milliseconds. */
  idleMs: number;
  /** What each tenant may use, where operators set nothing else for it. */
  tenants: Limits;
  connections: ConnectionLimits;
  times: StreamTimes;
}

const ROUTES = [
  addDocsPage,
  addHealthRoutes,
  addConversationRoutes,
  addConversationViews,
  addTurnRoutes,
  addEventRoutes,
  addTreeEventRoute,
  addAttachmentRoutes,
  addCheckpointRoutes,
  addForkRoutes,
  addControlRoutes,
  addClientToolRoutes,
  addApprovalLinkRoutes,
  addApprovalRoutes,
  addApprovalPages,
  addSignInPages,
  addScheduleRoutes,
  addWebhookRoutes,
  addWebhookDeliveryRoutes,
  addAgentRoutes,
  addPluginRoutes,
  addPluginWebhookRoutes,
  addPluginRequestRoute,
  addKeyRoutes,
  addLimitRoutes,
  addMemoryRoutes,
  addUsageRoutes,
  addAuditRoutes,
  addCodecRoutes,
  addSandboxRoute,
  addDiffRoute,
  addExportRoute,
  addImportRoute,
  addFileRoutes,
  addFileContentRoutes,
  addFileLinkRoutes,
  addLinkedFileRoutes,
  addCommandRoutes,
  addCommandStreamRoutes,
  addTerminalRoutes,
  addPreviewLinkRoutes,
  addPortRoutes,
  addPreviewRoutes,
  addChatRoutes,
  addModelRoutes,
  addCompletionRoutes,
];
const DEFAULT_LIMITS: ApiLimits = { streamsPerKey: 100, idleMs: 600_000, tenants: {}, connections: CONNECTIONS, times: STREAM_TIMES };
/** Time for the answers to requests under way when the process stops. Then connections that still take no bytes are closed. */
const LAST_ANSWERS_MS = 15_000;
/** Callers do not learn where the service keeps its files. */
const AGENTS_PLACE = "the service's directory of agents";

/** The HTTP service. It keeps no state of its own: any process answers any request. */
export async function createApi({
  client: given,
  log,
  version,
  stopping,
  publicUrl,
  previewUrl,
  oidc,
  limits,
  codecOrigins = [],
  oauthAddresses = [],
  tracing,
}: ApiParts): Promise<Api> {
  const { store } = given;
  const client = { ...given, hosts: createHostClient({ hosts: store.hosts, log }), agents: { ...given.agents, directory: AGENTS_PLACE } };
  await store.prepareTenants();
  const { streamsPerKey, idleMs, tenants, connections, times } = { ...DEFAULT_LIMITS, ...limits };
  const streams = createOpenStreams({ perOwner: streamsPerKey, ...times });
  const closing = new AbortController();
  const parts: RouteParts = {
    client,
    addressOf: createAddressOf(publicUrl),
    ...clientsOf(client),
    downloads: createDownloads(),
    store,
    streams,
    limit: createRequestLimiter(createLimitsOfCaller(store.limits, tenants), store.limits),
    readFrames: createFrameReader(store.events),
    codecOrigins,
    oauthAddresses,
    log,
    previews: previewUrl === undefined ? undefined : createPreviewSite(previewUrl),
    idleMs,
    times,
    stopping,
    closing: closing.signal,
  };
  const metrics = createApiMetrics({ openStreams: () => streams.size });
  const api = createServer({ log, limits: connections, previews: parts.previews, ended: metrics.ended });
  await addDescription(api, version);
  traceRequests(api, tracing);
  api.addHook('onRequest', async ({ id }) => {
    if (closing.signal.aborted) throw failure('SERVICE_AWAY', { cause: 'it stops', request: id });
  });
  addAuthentication(api, store, oidc && createOidcVerifier(oidc));
  limitRequests(api, parts.limit);
  limitBodies(api);
  limitAnswers(api);
  addTenantScope(api);
  addRepeatedRequests(api, store.requestAnswers);
  api.addHook('preClose', async () => {
    closing.abort();
    await streams.close();
    setTimeout(() => api.server.closeAllConnections(), LAST_ANSWERS_MS).unref();
  });
  for (const add of ROUTES) add(api, parts);
  addMetricsRoute(api, metrics);
  await api.ready();
  return api;
}

/** What acts in the name of callers, and on the sandboxes. */
function clientsOf(client: ClientParts & Pick<RouteParts, 'hosts'>): Pick<RouteParts, 'longshore' | 'longshoreBy' | 'longshoreFor' | 'hosts'> {
  return {
    longshore: createLongshore(client),
    longshoreBy: (by) => createLongshore({ ...client, by }),
    longshoreFor: (request) => createLongshore({ ...client, by: sourceOf(request), ...(request.once !== undefined && { once: request.once }) }),
    hosts: client.hosts,
  };
}
