import { makeId } from '../contracts/ids.ts';
import { failure } from '../contracts/errors.ts';
import type { SandboxRow } from '../store/sandbox-rows.ts';
import type { Store } from '../store/store.ts';
import { createOpenSandbox, type OpenSandbox } from './opened-sandbox.ts';
import { parseList, parseRestore, parseSandboxId, parseSnapshotId, parseSnapshots, parseWhere } from './open-options.ts';
import { createControl, HOUR_MS, type SandboxControl } from './sandbox-control.ts';
import { toSandboxInfo, type SandboxInfo } from './sandbox-info.ts';
import type { SnapshotInfo } from '../sandbox/api/snapshots.ts';
import { openParts, type OpenParts } from './with-sandboxes.ts';
import type { ListOptions, RestoreOptions, SnapshotsOptions, WhereOptions } from './option-types.ts';

/** Operations on a sandbox by its id: those of `SandboxControl`, and `destroy`. */
export interface SandboxById extends SandboxControl {
  /** Ends its processes and removes its files. Succeeds when it is destroyed already. */
  destroy(): Promise<void>;
}

/** Methods that are permitted while an open conversation owns the sandbox. The others would change the sandbox under it. */
const READING = new Set(['tier', 'info', 'metrics', 'snapshot', 'fork']);

/** The sandboxes of a tenant, by their ids. Each call connects to the database and the engine, and closes the connections at its end. */
export const sandboxes = {
  /** The oldest first, of all hosts. */
  async list(options?: ListOptions): Promise<SandboxInfo[]> {
    const { tier, template, ...where } = parseList(options);
    return withParts(where, async ({ store, tenantId }) => {
      const rows = await store.sandboxes.list({});
      const infos = rows.filter((row) => row.tenantId === tenantId && row.state !== 'warm').map(toSandboxInfo);
      return infos.filter(
        (info) => (tier === undefined ? info.tier !== 'destroyed' : info.tier === tier) && (template === undefined || info.template === template),
      );
    });
  },
  /**
   * One sandbox: `await sandboxes.get('sbx_…').stop()`.
   * Its methods fail with SANDBOX_NOT_FOUND when the tenant has no such sandbox. Methods that change it fail with SANDBOX_IN_USE while an open conversation
   * owns it.
   */
  get(sandboxId: string, options?: WhereOptions): SandboxById {
    const id = parseSandboxId('sandboxes.get', sandboxId);
    const where = parseWhere('sandboxes.get', options);
    const names = [
      'keepalive',
      'freeze',
      'hibernate',
      'stop',
      'archive',
      'wake',
      'tier',
      'info',
      'metrics',
      'snapshot',
      'fork',
      'setEgress',
      'destroy',
    ] as const;
    const methods = names.map((name) => [name, (...given: unknown[]) => withParts(where, (parts) => callOne(parts, id, name, given))]);
    return Object.fromEntries(methods) as SandboxById;
  },
  /** The oldest first, of all hosts. */
  async snapshots(options?: SnapshotsOptions): Promise<SnapshotInfo[]> {
    const { sandboxId, ...where } = parseSnapshots(options);
    return withParts(where, (parts) => parts.sandboxes.snapshots({ tenantId: parts.tenantId, ...(sandboxId !== undefined && { sandboxId }) }));
  },
  /**
   * Creates a sandbox from a snapshot and opens it. The connections stay open until it is released or destroyed. Waits for room on a full host, as `openSandbox` does.
   * @throws SNAPSHOT_NOT_FOUND; INTERRUPTED when `signal` was aborted; HOST_WAIT_OVER, HOST_DISK_WAIT_OVER; SNAPSHOT_ELSEWHERE when the snapshot is on another host and not in the blob store yet
   */
  async restore(snapshotId: string, options?: RestoreOptions): Promise<OpenSandbox> {
    const id = parseSnapshotId('sandboxes.restore', snapshotId);
    const { ttlMs = HOUR_MS, signal, ...where } = parseRestore(options);
    const parts = await openParts(where, 'worker');
    try {
      const owner = { sandboxId: makeId('sbx', Date.now(), Math.random), tenantId: parts.tenantId, ttlMs };
      return createOpenSandbox(parts, await parts.sandboxes.restore(id, owner, { signal }));
    } catch (error) {
      await parts[Symbol.asyncDispose]();
      if (signal?.aborted) throw failure('INTERRUPTED', { callId: 'sandboxes.restore' }, signal.reason);
      throw error;
    }
  },
  /** @throws SNAPSHOT_NOT_FOUND */
  async removeSnapshot(snapshotId: string, options?: WhereOptions): Promise<void> {
    const id = parseSnapshotId('sandboxes.removeSnapshot', snapshotId);
    await withParts(parseWhere('sandboxes.removeSnapshot', options), async (parts) => {
      const known = await parts.sandboxes.snapshots({ tenantId: parts.tenantId });
      if (!known.some((snapshot) => snapshot.snapshotId === id)) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId: id });
      await parts.sandboxes.removeSnapshot(id);
    });
  },
};

async function withParts<T>(where: WhereOptions, work: (parts: OpenParts) => Promise<T>): Promise<T> {
  await using parts = await openParts(where, 'visitor');
  return await work(parts);
}

async function callOne(parts: OpenParts, sandboxId: string, name: keyof SandboxById, given: unknown[]): Promise<unknown> {
  const row = await parts.store.sandboxes.get(sandboxId);
  if (row?.tenantId !== parts.tenantId || row.state === 'warm') throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  if (!READING.has(name)) await refuseInUse(parts.store, row);
  if (name === 'destroy') return parts.sandboxes.destroy(sandboxId);
  const call = createControl(parts, sandboxId)[name] as (...given: unknown[]) => Promise<unknown>;
  return call(...given);
}

async function refuseInUse(store: Store, { sandboxId, conversationId }: SandboxRow): Promise<void> {
  if (conversationId === undefined) return;
  const conversation = await store.conversations.get(conversationId);
  if (conversation !== undefined && conversation.state !== 'closed') throw failure('SANDBOX_IN_USE', { sandboxId, conversationId });
}
