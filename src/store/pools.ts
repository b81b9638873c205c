import { toJsonText } from './database/json-text.ts';
import type { Database } from './database/database.ts';
import { isDuplicate } from './database/database-failures.ts';
import { SANDBOX_COLUMNS, toSandbox, type SandboxSqlRow } from './sandbox-sql.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { SandboxRow } from './sandbox-rows.ts';

/** Sandboxes of one host that are created before they are requested. Those of one key are alike; each has a slot, counted from 1. */
export interface Pools {
  /** Registers an owner that keeps a pool of that size, for so many milliseconds from now. */
  own(owner: { ownerId: string; hostId: string; key: string; size: number; forMs: number }): Promise<void>;
  /** Removes the owner from all pools except those of these keys. */
  leave(ownerId: string, keys: { butFor: string[] }): Promise<void>;
  /** Inserts a row `creating` for a slot, unless the slot has one. @throws HOST_FULL */
  add(row: Pick<SandboxRow, 'sandboxId' | 'hostId' | 'containerName' | 'volumeName' | 'options'>, place: { key: string; slot: number }): Promise<void>;
  /** Sandboxes that are ready or being created, by slot. */
  list(hostId: string, key: string): Promise<SandboxRow[]>;
  /**
   * Gives a warm sandbox to a conversation that has none, or to a caller without a conversation; those of `preferred` first. Its row is then `creating`, is
   * found by the conversation from now on, and expires after `ttlMs`. Undefined when none is left or the conversation has one. @throws HOST_FULL when others in the
   * queue come first
   */
  claim(
    pool: { hostId: string; key: string; preferred: string[] },
    owner: { sandboxId: string; conversationId?: string; tenantId: string; options: JsonObject; ttlMs?: number },
  ): Promise<SandboxRow | undefined>;
  /** Those of a host that are ready or being created, of all keys; the newest first. */
  unclaimed(hostId: string): Promise<SandboxRow[]>;
  /** Makes the row of an unclaimed sandbox `destroyed`; false when it was already claimed or retired. */
  retire(sandboxId: string): Promise<boolean>;
  /** Unclaimed sandboxes whose slot has no owner any more. */
  unowned(hostId: string): Promise<SandboxRow[]>;
  /** Removes expired owners, and sandboxes that were retired long ago. */
  forget(hostId: string): Promise<void>;
}

const OWN = `insert into pool_owners (owner_id, host_id, pool_key, size, expires_at)
  values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
  on conflict (owner_id, host_id, pool_key) do update set size = excluded.size, expires_at = excluded.expires_at`;
const ADD = `with drawn as (select nextval('sandbox_fences')::integer as number)
  insert into sandboxes (sandbox_id, tenant_id, state, host_id, container_name, volume_name, options, pool_key, pool_slot, fence, volume_fence)
  select $1, $2, 'creating', $3, $4, $5, $6::json, $7, $8::integer, number, number from drawn on conflict do nothing`;
const OF_POOL = `select ${SANDBOX_COLUMNS} from sandboxes
  where host_id = $1 and pool_key = $2 and pool_slot is not null and state in ('creating', 'warm') order by pool_slot`;

/**
 * No claim waits for another: a warm sandbox that another claim is taking at this moment is skipped. A caller without a conversation that has waited for memory is in
 * the queue with the id that it has asked for. Its place becomes that of the sandbox which it gets, by whose id the trigger looks for it.
 */
const CLAIM = `with candidate (claimed_id) as (
    select sandbox_id from sandboxes where host_id = $1 and pool_key = $2 and state = 'warm'
      and not exists (select 1 from sandboxes as own where own.sandbox_id = $3 or own.conversation_id = $4)
    order by sandbox_id = any($5) desc, created_at limit 1 for update skip locked
  ), waited as (update room_waits set waiter = claimed_id from candidate where waiter = $3 and $4::text is null)
  update sandboxes set conversation_id = $4, tenant_id = $6, options = $7, state = 'creating', pool_slot = null, generation = generation + 1,
    created_at = clock_timestamp(), last_used_at = clock_timestamp(), expires_at = clock_timestamp() + $8 * interval '1 ms'
  from candidate where sandbox_id = claimed_id returning ${SANDBOX_COLUMNS}`;
const RETIRE = `update sandboxes set state = 'destroyed', generation = generation + 1, last_used_at = clock_timestamp()
  where sandbox_id = $1 and pool_slot is not null and state in ('creating', 'warm') returning sandbox_id`;
const UNCLAIMED = `select ${SANDBOX_COLUMNS} from sandboxes where host_id = $1 and pool_slot is not null and state in ('creating', 'warm') order by created_at desc`;
const UNOWNED = `select ${SANDBOX_COLUMNS} from sandboxes where host_id = $1 and pool_slot is not null and state in ('creating', 'warm')
  and pool_slot > coalesce((select max(size) from pool_owners
    where pool_owners.host_id = sandboxes.host_id and pool_owners.pool_key = sandboxes.pool_key and expires_at > clock_timestamp()), 0)`;
/** Rows of sandboxes that never had a conversation are removed when no process can still be building or removing them. */
const FORGET = `with expired as (delete from pool_owners where expires_at < clock_timestamp())
  delete from sandboxes where host_id = $1 and pool_slot is not null and state = 'destroyed' and last_used_at < clock_timestamp() - interval '1 hour'`;

export function createPools({ database }: { database: Database }): Pools {
  return {
    async own({ ownerId, hostId, key, size, forMs }) {
      await database.query('pools.own', OWN, [ownerId, hostId, key, size, forMs]);
    },
    async leave(ownerId, { butFor }) {
      await database.query('pools.leave', 'delete from pool_owners where owner_id = $1 and pool_key <> all($2)', [ownerId, butFor]);
    },
    async add({ sandboxId, hostId, containerName, volumeName, options }, { key, slot }) {
      await database.query('pools.add', ADD, [sandboxId, '', hostId, containerName, volumeName, toJsonText(options), key, slot]);
    },
    async list(hostId, key) {
      return (await database.query<SandboxSqlRow>('pools.list', OF_POOL, [hostId, key])).map(toSandbox);
    },
    async claim({ hostId, key, preferred }, { sandboxId, conversationId, tenantId, options, ttlMs }) {
      const values = [hostId, key, sandboxId, conversationId ?? null, preferred, tenantId, toJsonText(options), ttlMs ?? null];
      const claimed = await database.query<SandboxSqlRow>('pools.claim', CLAIM, values).catch((error: unknown) => {
        // Another worker has given the conversation a sandbox since this statement began.
        if (isDuplicate(error)) return [];
        throw error;
      });
      return claimed.map(toSandbox)[0];
    },
    unclaimed: async (hostId) => (await database.query<SandboxSqlRow>('pools.unclaimed', UNCLAIMED, [hostId])).map(toSandbox),
    retire: async (sandboxId) => (await database.query('pools.retire', RETIRE, [sandboxId])).length > 0,
    unowned: async (hostId) => (await database.query<SandboxSqlRow>('pools.unowned', UNOWNED, [hostId])).map(toSandbox),
    async forget(hostId) {
      await database.query('pools.forget', FORGET, [hostId]);
    },
  };
}
