import type { AuditSource } from '../contracts/audit.ts';
import type { ApprovalLink } from '../store/service/approval-links.ts';
import type { Store } from '../store/store.ts';
import { makeKeyText, sha256Of } from './key-text.ts';

/** The page of an approval below the address of the service; its secret is known only now. */
export interface MadeLink {
  linkId: string;
  path: string;
  expiresAt: Date;
}

/** Makes a link with which somebody without a key can answer one approval, once. Undefined when there is no such conversation. */
export async function makeApprovalLink(
  { approvalLinks }: Pick<Store, 'approvalLinks'>,
  { conversationId, callId, hash, ttlMs }: Pick<ApprovalLink, 'conversationId' | 'callId' | 'hash'> & { ttlMs: number },
  by: AuditSource,
): Promise<MadeLink | undefined> {
  const { keyId: linkId, secret, text } = makeKeyText('lsl');
  const made = await approvalLinks.create({ linkId, conversationId, callId, hash, secretSha256: sha256Of(secret), ttlMs }, by);
  return made && { linkId, path: `/approve/${text}`, expiresAt: made.expiresAt };
}
