import type { AuditSource } from '../../contracts/audit.ts';
import type { Database } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

const COLUMNS = `link_id as "linkId", tenant_id as "tenantId", conversation_id as "conversationId", sandbox_id as "sandboxId", key_id as "keyId", kind, path,
  max_bytes::float8 as "maxBytes", expires_at as "expiresAt"`;
const DETAILS = `json_build_object('linkId', "linkId", 'kind', kind, 'expiresAt', "expiresAt")`;
const AUDITED = { from: 'changed', tenant: '"tenantId"', target: '"conversationId"', details: DETAILS } as const;

/** Links that ended long ago are removed with the next one that is made. */
const CREATE = `with forgotten as (delete from file_links where expires_at < now() - interval '1 day'), changed as (
    insert into file_links (link_id, tenant_id, conversation_id, sandbox_id, key_id, kind, path, max_bytes, secret_sha256, expires_at)
    select $1, tenant_id, conversation_id, $3, $4, $5, $6, $7, $8, now() + $9::float8 * interval '1 millisecond' from conversations where conversation_id = $2
    returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'link.create', source: '$10' })})
  select * from changed`;
/** The key of a link may be a token, which has no row and no end of its own. */
const FIND = `select ${COLUMNS}, secret_sha256 as "secretSha256", expires_at <= now() as expired,
    (select state in ('closing', 'closed') from conversations c where c.conversation_id = l.conversation_id) as closed,
    not exists (select from sandboxes s where s.sandbox_id = l.sandbox_id and s.conversation_id = l.conversation_id and s.state <> 'destroyed') as removed,
    exists (select from api_keys k where k.key_id = l.key_id and (k.revoked_at is not null or k.expires_at <= now())) as "keyEnded"
  from file_links l where link_id = $1`;

/** A link to one file of the sandbox of a conversation. */
export interface FileLink {
  linkId: string;
  tenantId: string;
  conversationId: string;
  sandboxId: string;
  /** Id of the key that made it, or `oidc:` with tenant and user of a token. */
  keyId: string;
  kind: 'download' | 'upload';
  path: string;
  /** The most that an upload may have; null for a download. */
  maxBytes: number | null;
  expiresAt: Date;
}

export interface FileLinkRows {
  /** Undefined when there is no such conversation. */
  create(link: Omit<FileLink, 'tenantId' | 'expiresAt'> & { secretSha256: Buffer; ttlMs: number }, by: AuditSource): Promise<FileLink | undefined>;
  /** With what has ended it. */
  find(linkId: string): Promise<(FileLink & { secretSha256: Buffer; expired: boolean; closed: boolean; removed: boolean; keyEnded: boolean }) | undefined>;
}

export function createFileLinks({ database }: { database: Database }): FileLinkRows {
  return {
    async create({ linkId, conversationId, sandboxId, keyId, kind, path, maxBytes, secretSha256, ttlMs }, by) {
      const values = [linkId, conversationId, sandboxId, keyId, kind, path, maxBytes, secretSha256, ttlMs, sourceText(by)];
      return (await database.query<FileLink>('fileLinks.create', CREATE, values))[0];
    },
    async find(linkId) {
      const rows = await database.query<NonNullable<Awaited<ReturnType<FileLinkRows['find']>>>>('fileLinks.find', FIND, [linkId]);
      return rows[0];
    },
  };
}
