import type { AuditSource } from '../../contracts/audit.ts';
import type { Database } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

const COLUMNS = `link_id as "linkId", tenant_id as "tenantId", conversation_id as "conversationId", call_id as "callId", hash, expires_at as "expiresAt"`;
const DETAILS = `json_build_object('linkId', "linkId", 'conversationId', "conversationId", 'expiresAt', "expiresAt")`;
const AUDITED = { from: 'changed', tenant: '"tenantId"', target: '"callId"', details: DETAILS } as const;

/** Links that ended long ago are removed with the next one that is made. */
const CREATE = `with forgotten as (delete from approval_links where expires_at < now() - interval '7 days'), changed as (
    insert into approval_links (link_id, tenant_id, conversation_id, call_id, hash, secret_sha256, expires_at, key_id)
    select $1, tenant_id, conversation_id, $3, $4, $5, now() + $6::float8 * interval '1 millisecond',
      case when $7::json->'actor'->>'kind' = 'key' then $7::json->'actor'->>'id' end from conversations where conversation_id = $2
    returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'link.create', source: '$7' })})
  select * from changed`;
const FIND = `select ${COLUMNS}, secret_sha256 as "secretSha256", used_at is not null as used, expires_at <= now() as expired,
    exists (select from api_keys k where k.key_id = l.key_id and (k.revoked_at is not null or k.expires_at <= now())) as "keyEnded"
  from approval_links l where link_id = $1`;
const USE = `with changed as (
    update approval_links set used_at = now() where link_id = $1 and used_at is null and expires_at > now() returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'link.use', source: '$2' })})
  select 1 from changed`;
const RELEASE = 'update approval_links set used_at = null where link_id = $1';

/** A link to the approval of one call. */
export interface ApprovalLink {
  linkId: string;
  tenantId: string;
  conversationId: string;
  callId: string;
  hash: string;
  expiresAt: Date;
}

export interface ApprovalLinkRows {
  /** Undefined when there is no such conversation. */
  create(
    link: Pick<ApprovalLink, 'linkId' | 'conversationId' | 'callId' | 'hash'> & { secretSha256: Buffer; ttlMs: number },
    by: AuditSource,
  ): Promise<ApprovalLink | undefined>;
  find(linkId: string): Promise<(ApprovalLink & { secretSha256: Buffer; used: boolean; expired: boolean; keyEnded: boolean }) | undefined>;
  /** Takes the one use of a link; false when it was taken or has expired. */
  use(linkId: string, by: AuditSource): Promise<boolean>;
  /** Gives the use back when the answer could not be delivered. */
  release(linkId: string): Promise<void>;
}

export function createApprovalLinks({ database }: { database: Database }): ApprovalLinkRows {
  return {
    async create({ linkId, conversationId, callId, hash, secretSha256, ttlMs }, by) {
      const values = [linkId, conversationId, callId, hash, secretSha256, ttlMs, sourceText(by)];
      return (await database.query<ApprovalLink>('approvalLinks.create', CREATE, values))[0];
    },
    async find(linkId) {
      const rows = await database.query<NonNullable<Awaited<ReturnType<ApprovalLinkRows['find']>>>>('approvalLinks.find', FIND, [linkId]);
      return rows[0];
    },
    use: async (linkId, by) => (await database.query('approvalLinks.use', USE, [linkId, sourceText(by)])).length > 0,
    async release(linkId) {
      await database.query('approvalLinks.release', RELEASE, [linkId]);
    },
  };
}
