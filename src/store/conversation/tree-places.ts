import type { Database } from '../database/database.ts';

interface Limits {
  /** Places of a tree. */
  most: number;
  /** Of the tree, below its root. */
  levels: number;
}

/**
 * Places in trees of conversations. Who waits gets one in the order of asking; of the last places, each level has one that the levels above it cannot take.
 */
export interface TreePlaces {
  /** Asks for a place, once per call. `has`: whether the call has one; `others`: calls that have got one and do not know of it. */
  ask(
    asking: { callId: string; rootId: string; askerId: string; subAgentId: string; depth: number },
    limits: Limits,
  ): Promise<{ has: boolean; others: { callId: string; askerId: string }[] }>;
  /** Takes back the places of those that have ended, and gives them to those that wait. Returns who has got one and does not know of it. */
  give(rootId: string, limits: Limits): Promise<{ callId: string; askerId: string }[]>;
  /** These calls know of their places. */
  told(callIds: string[]): Promise<void>;
}

// Who has ended needs no place: a conversation that is closed, or, where none was started, a call that is settled.
const SWEEP = `delete from tree_places p where root_id = $1 and not coalesce(
    (select c.state <> 'closed' from conversations c where c.conversation_id = p.sub_agent_id),
    exists (select from tool_calls t where t.call_id = p.call_id and t.state = 'running'))`;

const ASK = `insert into tree_places (call_id, root_id, asker_id, sub_agent_id, depth) values ($1, $2, $3, $4, $5) on conflict do nothing`;

// The first that waits and fits. Each level has a place that the levels above it cannot take, so that those who wait for deeper ones never take them all.
const GIVE = `update tree_places given set place = free.place from (
    select w.call_id, min(number) as place from tree_places w
      cross join lateral generate_series(1, $2::int - $3::int + w.depth) number
      where w.root_id = $1 and w.place is null
        and not exists (select from tree_places taken where taken.root_id = $1 and taken.place = number)
      group by w.call_id, w.asked_at order by w.asked_at, w.call_id limit 1
  ) free where given.call_id = free.call_id and given.place is null returning given.call_id`;

const UNTOLD = 'select call_id, asker_id from tree_places where root_id = $1 and place is not null and not told order by asked_at, call_id';

const TOLD = 'update tree_places set told = true where call_id = any($1)';

const TAKE = 'update tree_places set told = true where call_id = $1 and place is not null returning call_id';

export function createTreePlaces({ database }: { database: Database }): TreePlaces {
  const untold = async (rootId: string) => {
    const rows = await database.query<{ call_id: string; asker_id: string }>('treePlaces.untold', UNTOLD, [rootId]);
    return rows.map((row) => ({ callId: row.call_id, askerId: row.asker_id }));
  };
  const give = (rootId: string, { most, levels }: Limits) =>
    database.withLock(`tree ${rootId}`, 'alone', async () => {
      await database.query('treePlaces.sweep', SWEEP, [rootId]);
      let given: unknown[];
      do given = await database.query('treePlaces.give', GIVE, [rootId, most, levels]);
      while (given.length > 0);
    });
  return {
    async give(rootId, limits) {
      await give(rootId, limits);
      return untold(rootId);
    },
    async ask({ callId, rootId, askerId, subAgentId, depth }, limits) {
      await database.query('treePlaces.ask', ASK, [callId, rootId, askerId, subAgentId, depth]);
      await give(rootId, limits);
      const taken = await database.query('treePlaces.take', TAKE, [callId]);
      return { has: taken.length > 0, others: await untold(rootId) };
    },
    async told(callIds) {
      if (callIds.length > 0) await database.query('treePlaces.told', TOLD, [callIds]);
    },
  };
}
