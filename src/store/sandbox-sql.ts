import type { JsonObject } from '../contracts/json.ts';
import type { SandboxArchive, SandboxRow, SandboxState } from './sandbox-rows.ts';

/** Of the table `sandboxes`, as `toSandbox` takes them. */
export const SANDBOX_COLUMNS =
  'sandbox_id, conversation_id, tenant_id, generation, state, host_id, container_name, container_id, volume_name, options, files_lost_at, expires_at, archive, last_used_at, created_at, pool_key, pool_slot, paused';

export interface SandboxSqlRow {
  sandbox_id: string;
  conversation_id: string | null;
  tenant_id: string;
  generation: number;
  state: SandboxState;
  host_id: string;
  container_name: string;
  container_id: string | null;
  volume_name: string;
  options: JsonObject;
  files_lost_at: Date | null;
  expires_at: Date | null;
  archive: SandboxArchive | null;
  last_used_at: Date;
  created_at: Date;
  pool_key: string | null;
  pool_slot: number | null;
  paused: boolean;
}

export function toSandbox(row: SandboxSqlRow): SandboxRow {
  return {
    sandboxId: row.sandbox_id,
    ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
    tenantId: row.tenant_id,
    generation: row.generation,
    state: row.state,
    hostId: row.host_id,
    containerName: row.container_name,
    ...(row.container_id !== null && { containerId: row.container_id }),
    volumeName: row.volume_name,
    options: row.options,
    ...(row.files_lost_at !== null && { filesLostAt: row.files_lost_at.toISOString() }),
    ...(row.expires_at !== null && { expiresAt: row.expires_at.toISOString() }),
    ...(row.archive !== null && { archive: row.archive }),
    ...(row.paused && { paused: true }),
    lastUsedAt: row.last_used_at.toISOString(),
    createdAt: row.created_at.toISOString(),
    ...(row.pool_key !== null && { pool: { key: row.pool_key, ...(row.pool_slot !== null && { slot: row.pool_slot }) } }),
  };
}
