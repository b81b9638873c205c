import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Scope } from '../../contracts/api-key.ts';
import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import { readKeyText, sha256Of } from '../../client/key-text.ts';

/** Who sends a request, and what that caller may do. */
export interface Caller {
  keyId: string;
  /** Absent: an operator, who sees all tenants. */
  tenantId?: string;
  scopes: ReadonlySet<Scope>;
}

/** The use of a key is noted once in so many milliseconds. */
const NOTED_MS = 60_000;
const BEARER = /^Bearer +(\S+)$/i;

/** @throws UNAUTHENTICATED when the request has no key that can be used */
export async function callerOf({ headers }: Pick<FastifyRequest, 'headers'>, keys: Store['apiKeys']): Promise<Caller> {
  const { authorization } = headers;
  if (authorization === undefined) throw failure('UNAUTHENTICATED', { problem: 'it has none' });
  const given = readKeyText(BEARER.exec(authorization)?.[1] ?? '');
  if (!given) throw failure('UNAUTHENTICATED', { problem: 'what it has is no key' });
  const key = await keys.find(given.keyId);
  // An unknown key is compared too, so that the answer takes as long.
  const isRight = timingSafeEqual(sha256Of(given.secret), key?.secretSha256 ?? Buffer.alloc(32));
  if (!key || !isRight) throw failure('UNAUTHENTICATED', { problem: 'its key is not known, has expired or was revoked' });
  // A note for operators: if it fails, the request is served all the same.
  if (key.lastUsedAt === undefined || Date.parse(key.lastUsedAt) < Date.now() - NOTED_MS) await keys.used(key.keyId).catch(() => undefined);
  return { keyId: key.keyId, scopes: new Set(key.scopes), ...(key.tenantId !== undefined && { tenantId: key.tenantId }) };
}

/** @throws SCOPE_MISSING */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.has(scope) && !scopes.has('admin')) throw failure('SCOPE_MISSING', { scope });
}

/** Another tenant's things do not exist for a caller. */
export function mayReach({ tenantId }: Caller, owner: string): boolean {
  return tenantId === undefined || tenantId === owner;
}
