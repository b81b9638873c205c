import { keyIdOfToken } from '../../contracts/api-key.ts';
import { createMedia } from '../conversation/media.ts';
import type { Database } from '../database/database.ts';
import { subjectText } from './limits.ts';
import { addUsageDays, callsByDay, RECENT_CALL } from './usage-sql.ts';

/** How long closed conversations of a tenant are kept. */
export interface TenantRetention {
  tenantId: string;
  /** Null: for ever. */
  keepMs: number | null;
}

/** The removal of closed conversations. One is marked first, and its row goes last, so that a removal that was interrupted is found and finished. */
export interface RemovalRows {
  /** Marks some conversations that are closed for as long as their tenant's retention, or `defaultMs` (undefined: for ever), and returns their ids. */
  claim(defaultMs: number | undefined, limit: number): Promise<string[]>;
  /** Marks a conversation, if it is closed. `heldMs`: so long, no worker goes on with it; an import that is not complete ends at once. */
  begin(conversationId: string, heldMs?: number): Promise<boolean>;
  /** Ids of the marked ones, in their order, from `afterId` on. */
  begun(limit: number, afterId?: string): Promise<string[]>;
  /** Takes the mark away from a conversation that turned out to be in use, and keeps it for another retention. */
  cancel(conversationId: string): Promise<void>;
  /**
   * Removes the rows of a marked conversation and of its sandbox. False when the sandbox is not destroyed yet, when the conversation is open again, or when the rows
   * are removed already.
   */
  finish(conversationId: string): Promise<boolean>;
  /** How much there is of a user; `entries`: values that plugins keep about the user outside of conversations. */
  userData(tenantId: string, userId: string): Promise<{ conversations: number; open: number; entries: number }>;
  /** Removes those values, and returns how many there were; the tokens of MCP servers, the tenant's kept answers of requests, the count of the user's requests and limits that were set for the user alone, and the user's id in the usage of removed conversations, too. */
  removeUserEntries(tenantId: string, userId: string): Promise<number>;
  /** Removes what removals at the same time have left: entries that only they read, tokens of users whose last conversations they were; and calls of removed conversations that no limit counts any more. */
  sweep(): Promise<void>;
  retentions(): Promise<TenantRetention[]>;
  /** `undefined`: the tenant has the setting of the workers. */
  setRetention(tenantId: string, keepMs: number | null | undefined): Promise<void>;
}

/** The shortest retention of all, by the index: so that a round in which none is old enough reads none. */
const CLAIM = `update conversations set removing_at = clock_timestamp() where conversation_id in (
    select c.conversation_id from conversations c left join tenant_retention r on r.tenant_id = c.tenant_id
    where c.state = 'closed' and c.removing_at is null
      and c.updated_at < statement_timestamp() - interval '1 ms' * least($1::float8, (select min(keep_ms) from tenant_retention))
      and greatest(c.updated_at, c.asked_at) < clock_timestamp() - interval '1 ms' * (case when r.tenant_id is null then $1::float8 else r.keep_ms end)
    order by c.updated_at limit $2 for update of c skip locked
  ) returning conversation_id`;
const BEGIN = `update conversations c set removing_at = case
    when $2::float8 = 0 or exists (select from imports i where i.conversation_id = c.conversation_id and i.report is null) then least(removing_at, clock_timestamp())
    else clock_timestamp() + $2 * interval '1 ms' end
  where conversation_id = $1 and state = 'closed' returning 1`;
/** The marks of an import that goes on and of what is erased are in the future. */
const BEGUN = `with marked as materialized (select conversation_id from conversations where removing_at <= statement_timestamp())
  select conversation_id from marked where conversation_id > $2 order by conversation_id limit $1`;
const CANCEL = 'update conversations set removing_at = null, asked_at = clock_timestamp() where conversation_id = $1';
const GONE_CALLS = 'model_calls join gone using (conversation_id)';
/**
 * What hangs on the conversation goes with its row; what its model calls used is added to that of their days, and, for limits, kept for a day as it is. Entries that forks read are kept for them, and those
 * that only this one read are removed. With the last conversation of a user, the tokens of MCP servers go.
 */
const FINISH = `with gone as (
    delete from conversations where conversation_id = $1 and removing_at is not null and state = 'closed'
      and not exists (select from sandboxes s where s.conversation_id = $1 and s.state <> 'destroyed')
    returning conversation_id
  ), boxes as (
    delete from sandboxes using gone where sandboxes.conversation_id = gone.conversation_id returning sandbox_id
  ), used as (
    select tenant_id, array_agg(sha256) as digests from media_uses where conversation_id = $1 group by tenant_id
  ), measured as (
    delete from sandbox_samples using boxes where sandbox_samples.sandbox_id = boxes.sandbox_id
  ), shared as materialized (
    select conversation_id, gen_random_uuid()::text as holder_id from gone
    where exists (select from transcript_parts p where p.source_id = gone.conversation_id)
  ), kept as (
    insert into kept_entries (holder_id, seq, key, turn_id, step_id, at, entry)
    select shared.holder_id, t.seq, t.key, t.turn_id, t.step_id, t.at, t.entry from shared join transcript t using (conversation_id)
    where exists (select from transcript_parts p where p.source_id = t.conversation_id and t.seq > p.after_seq and t.seq <= p.to_seq)
  ), pointed as (
    update transcript_parts p set source_id = null, holder_id = shared.holder_id from shared where p.source_id = shared.conversation_id
  ), unread as (
    delete from kept_entries k using gone, transcript_parts p
    where p.conversation_id = gone.conversation_id and k.holder_id = p.holder_id and not exists (
      select from transcript_parts other where other.holder_id = k.holder_id and other.conversation_id <> gone.conversation_id
        and k.seq > other.after_seq and k.seq <= other.to_seq)
  ), signed_out as (
    delete from mcp_tokens m using conversations c, gone
    where c.conversation_id = gone.conversation_id and m.tenant_id = c.tenant_id and m.user_id = c.user_id and not exists (
      select from conversations other where other.tenant_id = c.tenant_id and other.user_id = c.user_id and other.conversation_id <> c.conversation_id)
  ), counted as (
    ${addUsageDays(callsByDay(GONE_CALLS))}
  ), recent as (
    insert into removed_calls (${RECENT_CALL}) select ${RECENT_CALL} from ${GONE_CALLS} where at > statement_timestamp() - interval '1 day'
  )
  select used.tenant_id, used.digests from gone left join used on true`;
/** Forks of a conversation read its entries from the same place on, so that those behind the last one that is read are read no more. */
const SWEEP = `with recursive holders (holder_id) as (
    (select holder_id from kept_entries order by holder_id limit 1)
    union all
    select (select k.holder_id from kept_entries k where k.holder_id > holders.holder_id order by k.holder_id limit 1) from holders where holder_id is not null
  ), past as (
    delete from removed_calls where at < statement_timestamp() - interval '1 day'
  ), unread as (
    delete from kept_entries k using holders
    where k.holder_id = holders.holder_id and k.seq > coalesce((select max(p.to_seq) from transcript_parts p where p.holder_id = holders.holder_id), -1)
  )
  delete from mcp_tokens m where not exists (select from conversations c where c.tenant_id = m.tenant_id and c.user_id = m.user_id)`;
const USER_DATA = `select count(*)::int as conversations, (count(*) filter (where state <> 'closed'))::int as open,
  (select count(*)::int from plugin_store where tenant_id = $1 and user_id = $2 and conversation_id is null) as entries
  from conversations where tenant_id = $1 and user_id = $2`;
/** What the user's removed conversations used stays without the user. The answers that are kept for repeated requests do not say which user they are about, so those of the whole tenant are removed. That the requests were done remains known. */
const REMOVE_ENTRIES = `with erased as (update request_answers set body = null where tenant_id in ($1, '') and body is not null and status is not null),
  named as (delete from usage_days where tenant_id = $1 and user_id = $2 returning *),
  signed_out as (delete from mcp_tokens where tenant_id = $1 and user_id = $2),
  waiting as (delete from mcp_sign_ins where tenant_id = $1 and user_id = $2),
  requests as (delete from request_counts where subject = $3),
  limited as (delete from limits where subject = $3),
  nameless as (${addUsageDays("select tenant_id, day, agent_id, '' as user_id, model, calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd, unpriced from named")})
  delete from plugin_store where tenant_id = $1 and user_id = $2 returning 1`;
const SET = `insert into tenant_retention (tenant_id, keep_ms) values ($1, $2) on conflict (tenant_id) do update set keep_ms = excluded.keep_ms`;

export function createRemoval({ database }: { database: Database }): RemovalRows {
  const media = createMedia({ database });
  const removeMedia = async (of: { tenantId: string; sha256: string[] }) => {
    while ((await media.sweep(of)) > 0);
  };
  const ids = async (name: string, sql: string, values: (string | number | null)[]) =>
    (await database.query<{ conversation_id: string }>(name, sql, values)).map((row) => row.conversation_id);
  return {
    claim: (defaultMs, limit) => ids('removal.claim', CLAIM, [defaultMs ?? null, limit]),
    begin: async (conversationId, heldMs = 0) => (await database.query('removal.begin', BEGIN, [conversationId, heldMs])).length > 0,
    begun: (limit, afterId = '') => ids('removal.begun', BEGUN, [limit, afterId]),
    async cancel(conversationId) {
      await database.query('removal.cancel', CANCEL, [conversationId]);
    },
    async finish(conversationId) {
      const [gone] = await database.query<{ tenant_id: string | null; digests: string[] | null }>('removal.finish', FINISH, [conversationId]);
      // What an interruption leaves is found by the next sweep of a worker.
      if (gone?.tenant_id && gone.digests) await removeMedia({ tenantId: gone.tenant_id, sha256: gone.digests });
      return gone !== undefined;
    },
    async userData(tenantId, userId) {
      const sum = { conversations: 0, open: 0, entries: 0 };
      const [row] = await database.query<typeof sum>('removal.userData', USER_DATA, [tenantId, userId]);
      return row ?? sum;
    },
    async removeUserEntries(tenantId, userId) {
      const values = [tenantId, userId, subjectText({ key: keyIdOfToken(tenantId, userId) })];
      return (await database.query('removal.removeUserEntries', REMOVE_ENTRIES, values)).length;
    },
    async sweep() {
      await database.query('removal.sweep', SWEEP, []);
    },
    async retentions() {
      const sql = 'select tenant_id, keep_ms::float8 as keep_ms from tenant_retention order by tenant_id';
      const rows = await database.query<{ tenant_id: string; keep_ms: number | null }>('removal.retentions', sql, []);
      return rows.map((row) => ({ tenantId: row.tenant_id, keepMs: row.keep_ms }));
    },
    async setRetention(tenantId, keepMs) {
      if (keepMs === undefined) await database.query('removal.unset', 'delete from tenant_retention where tenant_id = $1', [tenantId]);
      else await database.query('removal.set', SET, [tenantId, keepMs]);
    },
  };
}
