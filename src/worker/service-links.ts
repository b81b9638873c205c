import { makeApprovalLink } from '../client/approval-link.ts';
import type { Config } from '../platform/config.ts';
import { baseAddress } from '../common/base-address.ts';
import type { Store } from '../store/store.ts';
import type { ServiceLinks } from '../tool-calls/dependencies.ts';

const SHORTEST_LINK_MS = 60_000;
const LONGEST_LINK_MS = 7 * 86_400_000;

interface LinkParts {
  config: Partial<Pick<Config, 'LONGSHORE_PUBLIC_URL' | 'LONGSHORE_TEMPORAL_LINKS'>>;
  store: Pick<Store, 'approvalLinks'>;
}

/** Links for the details of conversations in Temporal; undefined when it is not known where people reach the service. */
export function serviceLinks({ config, store }: LinkParts): ServiceLinks | undefined {
  if (config.LONGSHORE_PUBLIC_URL === undefined) return undefined;
  const url = baseAddress(config.LONGSHORE_PUBLIC_URL);
  if (config.LONGSHORE_TEMPORAL_LINKS !== 'yes') return { url };
  return {
    url,
    async toApproval({ conversationId, callId, hash, expiresAtMs }) {
      // An approval that does not expire has 0.
      const leftMs = expiresAtMs === 0 ? LONGEST_LINK_MS : expiresAtMs - Date.now();
      const ttlMs = Math.min(Math.max(leftMs, SHORTEST_LINK_MS), LONGEST_LINK_MS);
      const made = await makeApprovalLink(store, { conversationId, callId, hash, ttlMs }, { actor: { kind: 'conversation', id: conversationId } });
      return made && { url: `${url}${made.path}`, expiresAtMs: made.expiresAt.getTime() };
    },
  };
}
