import { failure } from './contracts/errors.ts';
import { connectOptions } from './client/client-arguments.ts';
import { createLongshore } from './client/create-longshore.ts';
import { createHttpLongshore } from './client/http/create-http-longshore.ts';
import { openClientParts } from './client/open-client-parts.ts';
import type { ConnectOptions, Longshore } from './client/types.ts';

export type {
  ApproveOptions,
  Chat,
  ConnectOptions,
  EventOptions,
  ListFilter,
  Longshore,
  RevokeOptions,
  SendOptions,
  SentMessage,
  StartOptions,
} from './client/types.ts';
export type { AuditLog, AuditQuery, CreateKeyOptions, Keys, Plugins, PluginState, RotateKeyOptions, UsageOptions } from './client/types/installation-types.ts';
export type { Attachment, DownloadedAttachment } from './client/attachments/attachment-types.ts';
export type { StoredMedia } from './contracts/attachments/media.ts';
export type {
  ClaimOptions,
  ClientToolCalls,
  ClientToolHandler,
  HandlerContext,
  ResultOptions,
  ServeToolsOptions,
  RequestedClientTool,
  RequestedClientTools,
} from './client/client-tools/client-tool-types.ts';
export type { Memory, MemoryOf } from './client/memory/memory-types.ts';
export type { MemoryContent, MemoryFile, MemoryVersion, MemoryWriter } from './contracts/memory/memory.ts';
export type { CreateScheduleOptions, Schedule, ScheduleRun, Schedules, ScheduleTiming, ScheduleWithRuns } from './client/types/schedule-types.ts';
export type { AttemptPage, CreateWebhookOptions, ReplayOptions, UpdateWebhookOptions, Webhooks, WebhookTest } from './client/webhooks/webhook-types.ts';
export type { Webhook, WebhookAttempt, WebhookData, WebhookPayload } from './contracts/webhook.ts';
export type { ClaimedCall, ClientCall, ClientTool, WaitingCall } from './contracts/client-tool.ts';
export type { ApiKey, Scope } from './contracts/api-key.ts';
export type { SetLimitsOptions, TenantLimits } from './client/types/installation-types.ts';
export type { LimitsOf } from './contracts/limits/limits.ts';
export type { AuditEntry } from './contracts/audit.ts';
export type { AllowedTool, ConversationStatus, PendingApproval } from './contracts/conversation.ts';
export type { ConversationEvent, EventData, EventType } from './contracts/events.ts';
export type { TreeEvent, TreeOptions } from './client/events/read-tree.ts';
export type { UsageGroup, UsageLine, UsageReport, UsageTotals } from './contracts/usage.ts';
export type { ArchiveSource, ImportedFrom, ImportOptions, ImportReport } from './contracts/imports/import.ts';
export type { StoredEntry } from './contracts/transcript.ts';
export { isFailure, LongshoreError } from './contracts/errors.ts';
export { defineAgent } from './definitions/agents/define-agent.ts';

/**
 * Connects to a Longshore installation: Postgres and Temporal. Fails with `POSTGRES_UNAVAILABLE`, `TEMPORAL_UNAVAILABLE`, `DATABASE_ELSEWHERE` or `CONFIG_INVALID`.
 * With `url` and `apiKey`, connects to a service over HTTP instead; then calls fail with `SERVICE_UNREACHABLE`, `UNAUTHENTICATED` and `SCOPE_MISSING` as well.
 * Dispose the client to close its connections: `await using longshore = await connect()`.
 */
export async function connect(given: ConnectOptions = {}): Promise<Longshore> {
  const options = connectOptions(given);
  const { url, apiKey } = options;
  if (url !== undefined) return createHttpLongshore({ url, apiKey: requireKey(apiKey) });
  const parts = await openClientParts(options);
  const longshore = createLongshore(parts);
  try {
    if (!options.lazy) await parts.temporal.client();
  } catch (error) {
    await longshore[Symbol.asyncDispose]();
    throw error;
  }
  return longshore;
}

function requireKey(apiKey: string | undefined): string {
  if (apiKey !== undefined) return apiKey;
  throw failure('INVALID_ARGUMENT', {
    what: 'options of connect.apiKey',
    problem: 'it is missing',
    fix: 'Give the key of the service: longshore keys create <name>',
  });
}
