import type { HostNeeds } from '../../contracts/hosts/needs.ts';
import type { WaitsForRoom } from '../../contracts/hosts/room.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';

/** One that waits for memory or disk: a conversation, or a sandbox that has none. */
export interface RoomWaiter extends HostNeeds {
  waiter: string;
  conversationId?: string;
  tenantId: string;
  /** Absent for one that any host may take. */
  hostId?: string;
  waits: WaitsForRoom;
}

/** The queue of those that wait for memory of hosts. The trigger `take_room` keeps to its order; what takes memory removes its waiter from the queue. */
export interface RoomQueue {
  /** Joins the queue, or keeps its place. A waiter that has not asked for half a minute has left it, and joins at the end. `isNew`: its conversation does not know of the wait. */
  join(waiter: RoomWaiter): Promise<{ waitedMs: number; isNew: boolean }>;
  /** The conversation knows of the wait. */
  told(waiter: string): Promise<void>;
  leave(waiter: string): Promise<void>;
  /** Removes those that left it long ago. */
  forget(): Promise<void>;
}

const JOIN = `insert into room_waits as w (waiter, conversation_id, tenant_id, host_id, runtime, memory_bytes, waits, labels)
  values ($1, $2, $3, $4, $5, $6, $7::json, $8::text[])
  on conflict (waiter) do update set host_id = excluded.host_id, runtime = excluded.runtime, memory_bytes = excluded.memory_bytes, waits = excluded.waits,
    labels = excluded.labels, seen_at = clock_timestamp(), told = w.told and longshore_is_in_line(w),
    number = case when longshore_is_in_line(w) then w.number else nextval('room_wait_numbers') end,
    asked_at = case when longshore_is_in_line(w) then w.asked_at else clock_timestamp() end
  returning not told as is_new, extract(epoch from clock_timestamp() - asked_at)::float8 * 1000 as waited_ms`;
const FORGET = "delete from room_waits where seen_at < clock_timestamp() - interval '1 hour'";

/** What a conversation waits for, as a sub-select; null while it does not. */
export function roomWait(conversationId: string): string {
  return `select w.waits from room_waits w where w.waiter = ${conversationId} and longshore_is_in_line(w)`;
}

export function createRoomQueue({ database }: { database: Database }): RoomQueue {
  return {
    async join({ waiter, conversationId, tenantId, hostId, runtime, labels, waits }) {
      // A call that waits for disk delays no call that waits for memory.
      const memoryBytes = waits.disk ? Infinity : waits.neededMb * 2 ** 20;
      const values = [waiter, conversationId ?? null, tenantId, hostId ?? null, runtime ?? null, memoryBytes, toJsonText(waits), labels ?? null];
      const [row] = await database.query<{ is_new: boolean; waited_ms: number }>('roomQueue.join', JOIN, values);
      return { waitedMs: row?.waited_ms ?? 0, isNew: row?.is_new === true };
    },
    async told(waiter) {
      await database.query('roomQueue.told', 'update room_waits set told = true where waiter = $1', [waiter]);
    },
    async leave(waiter) {
      await database.query('roomQueue.leave', 'delete from room_waits where waiter = $1', [waiter]);
    },
    async forget() {
      await database.query('roomQueue.forget', FORGET, []);
    },
  };
}
