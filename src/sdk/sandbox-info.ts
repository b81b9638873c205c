import { withoutUndefined } from '../common/without-undefined.ts';
import type { SandboxOptions } from '../contracts/agent.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { SandboxRow } from '../store/sandbox-rows.ts';
import type { ControlParts } from './with-sandboxes.ts';

/** What is known of a sandbox without waking it. */
export interface SandboxInfo extends Pick<SandboxOptions, 'template' | 'image' | 'memoryMb' | 'cpus' | 'pids' | 'diskMb'> {
  sandboxId: string;
  tenantId: string;
  /** Absent when no conversation owns the sandbox. */
  conversationId?: string;
  /** In a list, and for a sandbox of another host: the tier of its row. Otherwise checked against the engine. `none`: it is being created. */
  tier: SandboxTier;
  hostId: string;
  egress: NonNullable<SandboxOptions['egress']>;
  metadata: JsonObject;
  labels: Record<string, string>;
  createdAt: string;
  lastUsedAt: string;
  /** When it expires. Absent when a conversation decides, or when it never expires. */
  expiresAt?: string;
  onTtl: NonNullable<SandboxOptions['onTtl']>;
}

/** @throws SANDBOX_NOT_FOUND */
export async function readInfo({ store, sandboxes }: ControlParts, sandboxId: string): Promise<SandboxInfo> {
  const row = await store.sandboxes.get(sandboxId);
  if (!row) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  const info = toSandboxInfo(row);
  try {
    return { ...info, tier: await sandboxes.tier(sandboxId) };
  } catch (error) {
    // Only the row of a sandbox of another host is known here.
    if (isFailure(error, 'SANDBOX_UNREACHABLE')) return info;
    throw error;
  }
}

export function toSandboxInfo(row: SandboxRow): SandboxInfo {
  const { sandboxId, tenantId, conversationId, state, hostId, createdAt, lastUsedAt, expiresAt } = row;
  const { template, image, memoryMb, cpus, pids, diskMb, egress = [], metadata = {}, labels = {}, onTtl = 'destroy' } = row.options as SandboxOptions;
  const given = withoutUndefined({ conversationId, template, image, memoryMb, cpus, pids, diskMb, expiresAt });
  const tier = state === 'creating' || state === 'warm' ? 'none' : state;
  return { sandboxId, tenantId, tier, hostId, egress, metadata, labels, createdAt, lastUsedAt, onTtl, ...given };
}
