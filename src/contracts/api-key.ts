import { tryParseForeign } from './foreign-json.ts';

/** What a key of the HTTP service may do. `admin` includes the others and the management of keys; approving is a scope of its own. */
export const SCOPES = [
  'conversations:read',
  'conversations:write',
  'conversations:import',
  'approvals:resolve',
  'memory:read',
  'memory:write',
  'webhooks:read',
  'webhooks:write',
  'codec:decode',
  'files:read',
  'files:write',
  'sandbox:exec',
  'ports:connect',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

/** A key as it is listed; its secret is shown once, when it is made. */
export interface ApiKey {
  keyId: string;
  /** Absent: a key of an operator, which sees all tenants. */
  tenantId?: string;
  name: string;
  scopes: Scope[];
  /** ISO 8601, UTC, like the other times. */
  createdAt: string;
  expiresAt?: string;
  revokedAt?: string;
  lastUsedAt?: string;
}

/** What stands in place of the id of a key for the user of a token: users of two tenants may have the same id. */
export function keyIdOfToken(tenantId: string, userId: string): string {
  return `${TOKEN}${JSON.stringify([tenantId, userId])}`;
}

/** Whom such an id stands for; undefined for the id of a key, and for what is no id of a user. */
export function userOfTokenId(keyId: string): { tenantId: string; userId: string } | undefined {
  const ids = keyId.startsWith(TOKEN) ? tryParseForeign(keyId.slice(TOKEN.length)) : undefined;
  if (!Array.isArray(ids) || ids.length !== 2) return undefined;
  const [tenantId, userId] = ids;
  return typeof tenantId === 'string' && typeof userId === 'string' ? { tenantId, userId } : undefined;
}

const TOKEN = 'oidc:';
