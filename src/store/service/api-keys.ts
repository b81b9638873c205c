import type { ApiKey, Scope } from '../../contracts/api-key.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import type { Database } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

const COLUMNS = `key_id, tenant_id, name, scopes, secret_sha256, created_at, expires_at, revoked_at, last_used_at`;
const AUDITED = { from: 'changed', tenant: 'tenant_id', target: 'key_id' } as const;
const CREATE = `with changed as (
    insert into api_keys (key_id, tenant_id, name, scopes, secret_sha256, expires_at)
    values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 millisecond') returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'key.create', details: "json_build_object('name', name, 'scopes', scopes, 'expiresAt', expires_at)", source: '$7' })})
  select * from changed`;
const FIND = `select ${COLUMNS} from api_keys where key_id = $1 and revoked_at is null and (expires_at is null or expires_at > now())`;
const LIST = `select ${COLUMNS} from api_keys where $1::text is null or tenant_id = $1 order by created_at, key_id`;
const REVOKE = `with changed as (
    update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = $1 and ($2::text is null or tenant_id = $2) returning ${COLUMNS}
  ), noted as (${insertAudit({ ...AUDITED, action: 'key.revoke', details: "json_build_object('name', name)", source: '$3' })})
  select * from changed`;
/**
 * The old key ends after the overlap, or when it would end anyway. The new one is made for as long as the old one was: where that was rotated before, such as by a
 * request whose answer was lost, it ends early, and the newest key that was made in its place says how long.
 */
const ROTATE = `with recursive old as (
    select * from api_keys where key_id = $1 and revoked_at is null and (expires_at is null or expires_at > now()) and ($2::text is null or tenant_id = $2) for update
  ), line as (
    select key_id, expires_at - created_at as lifetime, 0 as number from old
    union all
    select made.key_id, made.expires_at - made.created_at, line.number + 1 from line
      join audit_log a on a.target = line.key_id and a.action = 'key.rotate' join api_keys made on made.key_id = a.details->>'newKeyId'
  ), changed as (
    insert into api_keys (key_id, tenant_id, name, scopes, secret_sha256, expires_at)
    select $3, tenant_id, name, scopes, $4, now() + (select lifetime from line order by number desc limit 1) from old returning ${COLUMNS}
  ), ended as (
    update api_keys set expires_at = least(api_keys.expires_at, now() + $5::float8 * interval '1 millisecond') from old
    where api_keys.key_id = old.key_id returning api_keys.expires_at as old_expires_at
  ), noted as (${insertAudit({ ...AUDITED, from: 'changed, ended', action: 'key.rotate', target: '$1', details: "json_build_object('name', name, 'newKeyId', key_id, 'endsAt', old_expires_at)", source: '$6' })})
  select * from changed, ended`;
/** A key that is used all the time is written once a minute. */
const USED = `update api_keys set last_used_at = now() where key_id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`;

/** Keys of the HTTP service. */
export interface ApiKeyRows {
  /** `ttlMs`: milliseconds until the key expires; absent: never. */
  create(key: Pick<ApiKey, 'keyId' | 'name' | 'scopes' | 'tenantId'> & { secretSha256: Buffer; ttlMs?: number }, by: AuditSource): Promise<ApiKey>;
  /** A key that can be used: neither expired nor revoked. */
  find(keyId: string): Promise<(ApiKey & { secretSha256: Buffer }) | undefined>;
  /** Oldest first, ended ones included; of one tenant when given. */
  list(tenantId?: string): Promise<ApiKey[]>;
  /** Undefined when there is no such key (of that tenant, when given). */
  revoke(keyId: string, by: AuditSource, tenantId?: string): Promise<ApiKey | undefined>;
  /** Makes a key that replaces another, which ends after `overlapMs`; undefined when there is no such key that can be used (of that tenant, when given). */
  rotate(
    keyId: string,
    next: { keyId: string; secretSha256: Buffer; overlapMs: number },
    by: AuditSource,
    tenantId?: string,
  ): Promise<(ApiKey & { oldEndsAt: string }) | undefined>;
  /** Notes the use of a key, at most once a minute. */
  used(keyId: string): Promise<void>;
}

interface Row {
  key_id: string;
  tenant_id: string | null;
  name: string;
  scopes: Scope[];
  secret_sha256: Buffer;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

export function createApiKeys({ database }: { database: Database }): ApiKeyRows {
  return {
    async create({ keyId, tenantId, name, scopes, secretSha256, ttlMs }, by) {
      const values = [keyId, tenantId ?? null, name, scopes, secretSha256, ttlMs ?? null, sourceText(by)];
      const [row] = await database.query<Row>('apiKeys.create', CREATE, values);
      return toKey(row as Row);
    },
    async find(keyId) {
      const [row] = await database.query<Row>('apiKeys.find', FIND, [keyId]);
      return row && { ...toKey(row), secretSha256: row.secret_sha256 };
    },
    async list(tenantId) {
      return (await database.query<Row>('apiKeys.list', LIST, [tenantId ?? null])).map(toKey);
    },
    async revoke(keyId, by, tenantId) {
      const [row] = await database.query<Row>('apiKeys.revoke', REVOKE, [keyId, tenantId ?? null, sourceText(by)]);
      return row && toKey(row);
    },
    async rotate(keyId, next, by, tenantId) {
      const values = [keyId, tenantId ?? null, next.keyId, next.secretSha256, next.overlapMs, sourceText(by)];
      // Of two at once, the second would see the end that the first has given to the old key, and not the key that says how long it was made for.
      const [row] = await database.withLock(`rotation of key ${keyId}`, 'alone', () =>
        database.query<Row & { old_expires_at: Date }>('apiKeys.rotate', ROTATE, values),
      );
      return row && { ...toKey(row), oldEndsAt: row.old_expires_at.toISOString() };
    },
    async used(keyId) {
      await database.query('apiKeys.used', USED, [keyId]);
    },
  };
}

function toKey(row: Row): ApiKey {
  return {
    keyId: row.key_id,
    ...(row.tenant_id !== null && { tenantId: row.tenant_id }),
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at.toISOString(),
    ...(row.expires_at && { expiresAt: row.expires_at.toISOString() }),
    ...(row.revoked_at && { revokedAt: row.revoked_at.toISOString() }),
    ...(row.last_used_at && { lastUsedAt: row.last_used_at.toISOString() }),
  };
}
