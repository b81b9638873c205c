/**
 * Who acts. `oidc`: the user of a token. `login`: the user of the machine that ran a command or a program with the client. `link`: somebody with a link to one
 * approval or file. `conversation`: a conversation's own workflow.
 */
export interface Actor {
  kind: 'key' | 'oidc' | 'login' | 'link' | 'conversation';
  /** Id of the key, name of the user, id of the link, id of the conversation. */
  id: string;
}

/** Who makes a change, and the request in which. */
export interface AuditSource {
  actor: Actor;
  /** The request's id in the log of the HTTP service. */
  requestId?: string;
}

/** What is in the audit log. `approval.answer`, `conversation.close` and those of schedules are written before what they say is sent. */
export const AUDIT_ACTIONS = [
  'approval.answer',
  'approval.resolved',
  'approval.revoke',
  'conversation.close',
  'key.create',
  'key.revoke',
  'key.rotate',
  'limits.set',
  'link.create',
  'link.use',
  'memory.delete',
  'memory.write',
  'plugin.configure',
  'plugin.disable',
  'plugin.enable',
  'plugin.erase',
  'plugin.grant',
  'plugin.reload',
  'plugin.revoke',
  'plugin.webhook-add',
  'plugin.webhook-remove',
  'schedule.change',
  'schedule.create',
  'schedule.remove',
  'schedule.trigger',
  'preview.create',
  'preview.end',
  'webhook.change',
  'webhook.create',
  'webhook.remove',
  'webhook.rotate',
  'retention.set',
  'user.erase',
  'user.sign-in',
  'user.sign-out',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** A row of the audit log. */
export interface AuditEntry extends AuditSource {
  auditId: string;
  /** ISO 8601, UTC. */
  at: string;
  /** Absent: of the whole installation. */
  tenantId?: string;
  /** One of `AUDIT_ACTIONS`, or one that a newer version has added. */
  action: string;
  /** Id of what was changed. */
  target: string;
  /** Facts such as scopes or an answer; nothing that an agent or a user wrote. */
  details: Record<string, unknown>;
}
