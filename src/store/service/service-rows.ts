import type { ApiKeyRows } from './api-keys.ts';
import type { ApprovalLinkRows } from './approval-links.ts';
import type { AuditRows } from './audit.ts';
import type { ClientCallRows } from './client-calls.ts';
import type { FileLinkRows } from './file-links.ts';
import type { PluginWebhookRows } from './plugin-webhooks.ts';
import type { PreviewLinkRows } from './preview-links.ts';
import type { FleetRows } from './fleet.ts';
import type { HostRows } from './hosts.ts';
import type { JudgementRows } from './judgements.ts';
import type { LimitRows } from './limits.ts';
import type { RemovalRows } from './removal.ts';
import type { RequestAnswers } from './request-answers.ts';
import type { TaskQuestions } from './task-questions.ts';
import type { UsageRows } from './usage.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** The parts of the store that the HTTP service is there for. */
export interface ServiceRows {
  /** Endpoints that events are sent to, and what waits for them. */
  webhooks: WebhookRows;
  /** Keys of the HTTP service. */
  apiKeys: ApiKeyRows;
  limits: LimitRows;
  requestAnswers: RequestAnswers;
  /** Tokens and cost of model calls. */
  usage: UsageRows;
  taskQuestions: TaskQuestions;
  /** Who changed what. */
  audit: AuditRows;
  /** Verdicts of judges about calls, and what they are shown. */
  judgements: JudgementRows;
  hosts: HostRows;
  fleet: FleetRows;
  /** The removal of closed conversations and of a user's data. */
  removal: RemovalRows;
  /** Links to approvals for people without a key. */
  approvalLinks: ApprovalLinkRows;
  /** Calls of tools that clients run. */
  clientCalls: ClientCallRows;
  /** Links to files of sandboxes for people and programs without a key. */
  fileLinks: FileLinkRows;
  /** Links to ports of sandboxes for browsers. */
  previewLinks: PreviewLinkRows;
  /** Addresses at which outside systems reach functions of plugins, and their requests. */
  pluginWebhooks: PluginWebhookRows;
}
