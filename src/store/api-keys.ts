import type { ApiKey, Scope } from '../contracts/api-key.ts';
import type { Database } from './database/database.ts';
import type { Store } from './store.ts';

const COLUMNS = `key_id, tenant_id, name, scopes, secret_sha256, created_at, expires_at, revoked_at, last_used_at`;
const CREATE = `insert into api_keys (key_id, tenant_id, name, scopes, secret_sha256, expires_at)
  values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 millisecond') returning ${COLUMNS}`;
const FIND = `select ${COLUMNS} from api_keys where key_id = $1 and revoked_at is null and (expires_at is null or expires_at > now())`;
const LIST = `select ${COLUMNS} from api_keys where $1::text is null or tenant_id = $1 order by created_at, key_id`;
const REVOKE = `update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = $1 and ($2::text is null or tenant_id = $2) returning ${COLUMNS}`;
/** A key that is used all the time is written once a minute. */
const USED = `update api_keys set last_used_at = now() where key_id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`;

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

export function createApiKeys({ database }: { database: Database }): Store['apiKeys'] {
  return {
    async create({ keyId, tenantId, name, scopes, secretSha256, ttlMs }) {
      const values = [keyId, tenantId ?? null, name, scopes, secretSha256, ttlMs ?? null];
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
    async revoke(keyId, tenantId) {
      const [row] = await database.query<Row>('apiKeys.revoke', REVOKE, [keyId, tenantId ?? null]);
      return row && toKey(row);
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
