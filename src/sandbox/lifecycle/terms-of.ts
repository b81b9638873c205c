import type { SecureContextOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { readEnvironment, type Config } from '../../platform/config.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { Logger } from '../../platform/log.ts';
import { createAddressPolicy, type Resolve } from '../../network/address-policy.ts';
import { readAddresses } from '../../network/read-addresses.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { createHeldAuthority } from '../egress/authority.ts';
import { createEgress } from '../egress/create-egress.ts';
import type { EgressSummary } from '../egress/decisions.ts';
import { diskLimit } from '../engine/disk-limit.ts';
import type { TermsOf } from './base/keep-terms.ts';

export interface TermsOfOptions {
  config: Pick<Config, 'LONGSHORE_HOME' | 'LONGSHORE_EGRESS_ADDRESSES'>;
  store: Pick<Store, 'sandboxes' | 'events'>;
  log: Logger;
  /** Only a worker serves a way out. */
  role: 'worker' | 'visitor';
  /** Looks names up; the system's way when absent. */
  resolve?: Resolve;
  /** Whether files are kept within their limit. Default true; not where a sandbox shares its user with other programs. */
  watchDisk?: boolean;
  /** Certificates that hosts are trusted by beside the usual ones, where credentials are added. */
  trust?: Pick<SecureContextOptions, 'ca'>;
}

const MEBIBYTE = 1024 * 1024;

/** Reads what holds for a sandbox from its row, so that it is the same for all workers. What its way out decides is told in the conversation's events. */
export function createTermsOf({ config, store, log, role, resolve, trust, watchDisk = true }: TermsOfOptions): TermsOf {
  const authority = createHeldAuthority(config.LONGSHORE_HOME);
  const allowAddresses = readAddresses('LONGSHORE_EGRESS_ADDRESSES', config.LONGSHORE_EGRESS_ADDRESSES);
  const policy = createAddressPolicy({ allowAddresses, ...(resolve && { resolve }) });
  return async (sandboxId) => {
    const row = await store.sandboxes.get(sandboxId);
    const options = (row?.options ?? {}) as SandboxOptions;
    const { egress } = options;
    const terms = { diskBytes: watchDisk ? diskLimit(options) * MEBIBYTE : 0 };
    if (!row || role === 'visitor') return { terms, isCurrent: async () => true };
    const isCurrent = async () => {
      const now = (await store.sandboxes.get(sandboxId))?.options as SandboxOptions | undefined;
      return now === undefined || isDeepStrictEqual(now.egress, egress);
    };
    // An empty list is served as well: programs that were shown the way out learn that nothing is on the list, not that no worker is there.
    if (egress === undefined) return { terms, isCurrent };
    const tell = (summary: EgressSummary): Promise<void> => tellOf(store, log, row, summary);
    const made = createEgress({ egress, policy, authority, readEnvironment, tell, log, ...(trust && { trust }) });
    const opens = egress.some((rule) => typeof rule !== 'string' && Object.keys(rule.headers ?? {}).length > 0);
    return { terms, isCurrent, egress: made, ...(opens && { certificate: await authority.certificate() }) };
  };
}

/** What cannot be stored is in the log at least. */
async function tellOf({ events }: Pick<Store, 'events'>, log: Logger, { sandboxId, conversationId }: SandboxRow, summary: EgressSummary): Promise<void> {
  try {
    if (conversationId !== undefined) await events.append(conversationId, [{ type: 'sandbox.egress', data: { ...summary } }]);
    else log.info({ sandboxId, ...summary }, 'sandbox egress');
  } catch (error) {
    log.warn({ sandboxId, err: error, ...summary }, 'what a sandbox did outside could not be stored');
  }
}
