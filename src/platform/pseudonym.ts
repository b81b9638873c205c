import { createHash } from 'node:crypto';

/** By which the audit log names a user who may be erased, since the log cannot be erased: SHA-256 of tenant and user. */
export function pseudonymOf({ tenantId, userId }: { tenantId: string; userId: string }): string {
  return `sha256:${createHash('sha256').update(`${tenantId}\0${userId}`).digest('hex').slice(0, 32)}`;
}
