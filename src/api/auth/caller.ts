import type { FastifyRequest } from 'fastify';
import type { Scope } from '../../contracts/api-key.ts';
import type { Actor, AuditSource } from '../../contracts/audit.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import { hasSecret, readKeyText } from '../../client/key-text.ts';

/** Who sends a request, and what that caller may do. */
export interface Caller {
  /** The key's id, or `oidc:` with tenant and user of a token: limits count by it. */
  keyId: string;
  /** For the audit log. */
  actor: Actor;
  /** Absent: an operator, who sees all tenants. */
  tenantId?: string;
  /** Present: the only user whose things the caller makes and sees. */
  userId?: string;
  scopes: ReadonlySet<Scope>;
}

/** Who sends a token. @throws UNAUTHENTICATED, ISSUER_UNREACHABLE */
export type TokenVerifier = (token: string) => Promise<Caller>;

/** Who makes the changes of a request, for the audit log. */
export function sourceOf({ caller, id }: Pick<FastifyRequest, 'caller' | 'id'>): AuditSource {
  return { actor: caller.actor, requestId: id };
}

/** The use of a key is noted once in so many milliseconds. */
const NOTED_MS = 60_000;
const BEARER = /^Bearer +(\S+)$/i;
/** The form of a JWT; no key has a dot. */
const TOKEN = /^[^.]*\.[^.]*\.[^.]*$/;

/** @throws UNAUTHENTICATED when the request has no key and no token that can be used; ISSUER_UNREACHABLE */
export async function callerOf({ headers }: Pick<FastifyRequest, 'headers'>, keys: Store['apiKeys'], oidc: TokenVerifier | undefined): Promise<Caller> {
  const { authorization } = headers;
  if (authorization === undefined) throw failure('UNAUTHENTICATED', { problem: 'it has none' });
  const [, text = ''] = BEARER.exec(authorization) ?? [];
  return oidc && TOKEN.test(text) ? oidc(text) : callerOfKey(text, keys);
}

async function callerOfKey(text: string, keys: Store['apiKeys']): Promise<Caller> {
  const given = readKeyText(text);
  if (!given) throw failure('UNAUTHENTICATED', { problem: 'what it has is no key' });
  const key = await keys.find(given.keyId);
  const isRight = hasSecret(given, key?.secretSha256);
  if (!key || !isRight) throw failure('UNAUTHENTICATED', { problem: 'its key is not known, has expired or was revoked' });
  const { keyId, tenantId, lastUsedAt } = key;
  // A note for operators: if it fails, the request is served all the same.
  if (lastUsedAt === undefined || Date.parse(lastUsedAt) < Date.now() - NOTED_MS) await keys.used(keyId).catch(() => undefined);
  return { keyId, actor: { kind: 'key', id: keyId }, scopes: new Set(key.scopes), ...(tenantId !== undefined && { tenantId }) };
}

/** @throws SCOPE_MISSING */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.has(scope) && !scopes.has('admin')) throw failure('SCOPE_MISSING', { scope });
}

/** @throws OPERATOR_REQUIRED for a key of a tenant */
export function requireOperator({ tenantId }: Caller, what: string): void {
  if (tenantId !== undefined) throw failure('OPERATOR_REQUIRED', { what });
}

/** Another tenant's things do not exist for a caller; nor do those of other users, for one that speaks for a user. */
export function mayReach(caller: Caller, owner: { tenantId: string; userId: string }): boolean {
  return hasTenant(caller, owner.tenantId) && (caller.userId === undefined || caller.userId === owner.userId);
}

export function hasTenant({ tenantId }: Caller, owner: string): boolean {
  return tenantId === undefined || tenantId === owner;
}

/** Whose things a list of the caller has; undefined when those that are wanted are not the caller's. */
export function reachOf(
  caller: Caller,
  wanted: { tenant?: string | undefined; user?: string | undefined },
): { tenantId?: string; userId?: string } | undefined {
  const { tenantId = wanted.tenant, userId = wanted.user } = caller;
  if ((wanted.tenant ?? tenantId) !== tenantId || (wanted.user ?? userId) !== userId) return undefined;
  return withoutUndefined({ tenantId, userId });
}
