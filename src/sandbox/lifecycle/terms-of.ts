import type { SecureContextOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { readEnvironment, type Config } from '../../platform/config.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { Logger } from '../../platform/log.ts';
import { createAddressPolicy, type ResolveName } from '../../network/address-policy.ts';
import { readAddresses } from '../../network/read-addresses.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { resolveReferences } from '../api/references.ts';
import { createHeldAuthority } from '../egress/authority.ts';
import { createEgress } from '../egress/create-egress.ts';
import type { EgressSummary } from '../egress/decisions.ts';
import { diskLimit } from '../engine/disk-limit.ts';
import { createMask } from '../handle/secrets/mask.ts';
import type { TermsOf } from './base/keep-terms.ts';

export interface TermsOfOptions {
  config: Pick<Config, 'LONGSHORE_HOME' | 'LONGSHORE_EGRESS_ADDRESSES'>;
  store: Pick<Store, 'sandboxes' | 'events'>;
  log: Logger;
  /** Only a worker serves egress. */
  role: 'worker' | 'visitor';
  /** Looks up host names. Default: the system's resolver. */
  resolve?: ResolveName;
  /** Whether the disk limit is enforced. Default true; false when a sandbox shares its user with other programs. */
  watchDisk?: boolean;
  /** Certificates to trust in addition to the default ones, for hosts whose requests get credentials. */
  trust?: Pick<SecureContextOptions, 'ca'>;
}

const MEBIBYTE = 1024 * 1024;

/** Reads the terms of a sandbox from its row, so that all workers apply the same. Egress decisions are reported as events of the conversation. */
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
    // An empty list is served as well: programs that use egress then get the error that the host is not listed, not that no worker serves them.
    if (egress === undefined) return { terms, isCurrent };
    const tell = (summary: EgressSummary): Promise<void> => tellOf(store, log, row, summary);
    const made = createEgress({ egress, mask: maskOf(options), policy, authority, readEnvironment, tell, log, ...(trust && { trust }) });
    const opens = egress.some((rule) => typeof rule !== 'string' && Object.keys(rule.headers ?? {}).length > 0);
    return { terms, isCurrent, egress: made, ...(opens && { certificate: await authority.certificate() }) };
  };
}

/** Host names are compared, and reported, in lower case, and each byte of what the guest writes is a character. */
function maskOf({ secrets = {} }: SandboxOptions): (text: string) => string {
  const values = Object.values(secrets).flatMap((text) => {
    const resolved = resolveReferences({ text }, readEnvironment);
    return 'values' in resolved ? Object.values(resolved.values) : [];
  });
  const written = values.flatMap((value) => [value, Buffer.from(value).toString('latin1')]);
  const mask = createMask(written.flatMap((value) => [value, value.toLowerCase()]));
  return (text) => mask.text(text);
}

/**
 * Stores egress decisions as an event of the conversation that has the sandbox now: it may have taken over a warm or a free one since the connection was opened.
 * Without a conversation, or when that fails, they are logged.
 */
async function tellOf({ sandboxes, events }: Pick<Store, 'sandboxes' | 'events'>, log: Logger, row: SandboxRow, summary: EgressSummary): Promise<void> {
  const { sandboxId } = row;
  try {
    const { conversationId } = (await sandboxes.get(sandboxId)) ?? row;
    if (conversationId !== undefined) await events.append(conversationId, [{ type: 'sandbox.egress', data: { ...summary } }]);
    else log.info({ sandboxId, ...summary }, 'sandbox egress');
  } catch (error) {
    log.warn({ sandboxId, err: error, ...summary }, 'what a sandbox did outside could not be stored');
  }
}
