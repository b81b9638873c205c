import type { AuditSource } from '../../contracts/audit.ts';
import type { Database } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

const COLUMNS = `link_id as "linkId", tenant_id as "tenantId", conversation_id as "conversationId", port, key_id as "keyId", expires_at as "expiresAt"`;
const AUDITED = { from: 'changed', tenant: '"tenantId"', target: '"conversationId"' } as const;
const DETAILS = `json_build_object('linkId', "linkId", 'port', port, 'expiresAt', "expiresAt")`;

/** Links that ended long ago are removed with the next one that is made. */
const CREATE = `with forgotten as (delete from preview_links where expires_at < now() - interval '1 day'), changed as (
    insert into preview_links (link_id, tenant_id, conversation_id, port, key_id, secret_sha256, expires_at)
    select $1, tenant_id, conversation_id, $3, $4, $5, now() + $6::float8 * interval '1 millisecond' from conversations where conversation_id = $2
    returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'preview.create', details: DETAILS, source: '$7' })})
  select * from changed`;
/** The key of a link may be a token, which has no row and no end of its own. */
const FIND = `select ${COLUMNS}, secret_sha256 as "secretSha256" from preview_links l where link_id = $1 and expires_at > now()
  and not exists (select from api_keys k where k.key_id = l.key_id and (k.revoked_at is not null or k.expires_at <= now()))
  and exists (select from conversations c where c.conversation_id = l.conversation_id and c.state not in ('closing', 'closed'))`;
const END = `with changed as (delete from preview_links where conversation_id = $1 returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'preview.end', details: DETAILS, source: '$2' })})
  select * from changed`;

/** A link to a port of a sandbox. */
export interface PreviewLink {
  linkId: string;
  tenantId: string;
  conversationId: string;
  port: number;
  /** Id of the key that made it, or `oidc:` with tenant and user of a token. */
  keyId: string;
  expiresAt: Date;
}

export interface PreviewLinkRows {
  /** Undefined when there is no such conversation. */
  create(
    link: Pick<PreviewLink, 'linkId' | 'conversationId' | 'port' | 'keyId'> & { secretSha256: Buffer; ttlMs: number },
    by: AuditSource,
  ): Promise<PreviewLink | undefined>;
  /** Undefined also for one that has expired, whose key was revoked, or whose conversation is closed. */
  find(linkId: string): Promise<(PreviewLink & { secretSha256: Buffer }) | undefined>;
  /** Ends all links of a conversation. */
  end(conversationId: string, by: AuditSource): Promise<void>;
}

export function createPreviewLinks({ database }: { database: Database }): PreviewLinkRows {
  return {
    async create({ linkId, conversationId, port, keyId, secretSha256, ttlMs }, by) {
      const values = [linkId, conversationId, port, keyId, secretSha256, ttlMs, sourceText(by)];
      return (await database.query<PreviewLink>('previewLinks.create', CREATE, values))[0];
    },
    find: async (linkId) => (await database.query<PreviewLink & { secretSha256: Buffer }>('previewLinks.find', FIND, [linkId]))[0],
    async end(conversationId, by) {
      await database.query('previewLinks.end', END, [conversationId, sourceText(by)]);
    },
  };
}
