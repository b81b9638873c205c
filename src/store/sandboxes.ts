import { failure } from '../contracts/errors.ts';
import { entriesOf } from './database/entries-of.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database, SqlValue } from './database/database.ts';
import { insertEvents } from './database/event-sql.ts';
import { toJsonText } from './database/json-text.ts';
import { SANDBOX_COLUMNS, toSandbox, type SandboxSqlRow } from './sandbox-sql.ts';
import type { SandboxChange } from './sandbox-rows.ts';
import { isGivenUp } from './service/hosts.ts';
import type { Store } from './store.ts';

/** Draws no number for a sandbox that exists: it is asked for each time that one is opened. */
const INSERT = `with drawn as (
    select coalesce($10::integer, nextval('sandbox_fences')::integer) as number
    where not exists (select from sandboxes where sandbox_id = $1 or conversation_id = $2)
  )
  insert into sandboxes (sandbox_id, conversation_id, tenant_id, state, host_id, container_name, volume_name, options, expires_at, fence, volume_fence)
  select $1, $2, $3, $4, $5, $6, $7, $8::json, clock_timestamp() + $9 * interval '1 ms', number, number from drawn
  on conflict do nothing returning ${SANDBOX_COLUMNS}`;
/** First the one that the conversation has: its id may give that of another one. */
const FIND = `select ${SANDBOX_COLUMNS} from sandboxes where sandbox_id = $1 or conversation_id = $2 order by (conversation_id = $2) is true desc limit 1`;

const REST = "('hibernated', 'stopped', 'lost', 'archived')";
/** What memory stays promised for. */
const KEPT = `case when $3 in ('hibernated', 'stopped', 'lost') then coalesce($12::text,
  case when before.state in ${REST} and promised_for = 'wake' and promised_on = coalesce($7, host_id) then promised_for end) end`;

/**
 * `before` locks the row, so that the event names the state that this change really ended, and the loser of a race sees the winner's generation.
 * A sandbox without a conversation has no counter row and logs nothing, and neither does a change that keeps the tier.
 * When a sandbox runs again after a loss, a note for the model is added to the newest turn of the transcript, whatever caused the wake; also for the models of
 * sub-agents that share the sandbox, of whose programs and files nothing is known here.
 */
const CHANGE = changing(`before as (
    select sandbox_id, state from sandboxes where sandbox_id = $1 and generation = $2 and fence = coalesce($13, fence)
      and ($14::boolean is not true or expires_at <= clock_timestamp()) for update
  )`);

/** The same, while the host in the row is given up. Its row is locked, so that it comes back either before this change, which then fails, or after it. */
const TAKE_OVER = changing(`gone as (select gone.* from hosts gone, hosts own
    where gone.host_id = (select host_id from sandboxes where sandbox_id = $1) and own.host_id = $7 and ${isGivenUp('$13')} for update of gone
  ), before as (
    select sandbox_id, state from sandboxes, gone where sandbox_id = $1 and generation = $2 and sandboxes.host_id = gone.host_id
      and ($14::boolean is not true or expires_at <= clock_timestamp()) for update of sandboxes
  )`);

function changing(before: string): string {
  return `with ${before}, changed as (
    update sandboxes set state = $3, generation = generation + 1, last_used_at = clock_timestamp(),
      container_id = case when $11::integer is null then coalesce($4, container_id) else $4 end, fence = coalesce($11, fence),
      volume_fence = case when $6 or $8::text is not null then coalesce($11, volume_fence) else volume_fence end,
      files_lost_at = case when $6 then clock_timestamp() else files_lost_at end,
      host_id = coalesce($7, host_id), volume_name = coalesce($8, volume_name), archive = $9::json, paused = $10,
      paused_at = case when $10 then clock_timestamp() end,
      promised_for = ${KEPT}, promised_on = case when ${KEPT} is not null then coalesce($7, host_id) end,
      promised_at = case when $12::text is null then promised_at else clock_timestamp() end
    from before where sandboxes.sandbox_id = before.sandbox_id
    returning sandboxes.*, before.state as from_state
  ), told as (
    select changed.*, true as owns, changed.conversation_id as reader_id from changed
    union all
    select changed.*, false, guest.conversation_id
    from changed join conversations owner on $5::text is not null and changed.state = 'running' and owner.conversation_id = changed.conversation_id
      join tree_places on root_id = coalesce(owner.status->'parent'->'path'->>0, owner.conversation_id)
      join conversations guest on guest.conversation_id = sub_agent_id and guest.state <> 'closed'
        and guest.status->'parent'->'sandbox'->>'conversationId' = owner.conversation_id
  ), placed as (
    select told.*, place.turn_id, place.step_id, case when owns then json_build_array(json_build_object('type', 'sandbox.changed', 'data',
      json_strip_nulls(json_build_object('tier', told.state, 'from', case told.from_state when 'creating' then 'none' else told.from_state end, 'lost', $5::text))))
      else '[]' end as changes
    from told left join lateral (
      select turn_id, step_id from ${entriesOf('told.reader_id')} entries where $5::text is not null and told.state = 'running'
      order by seq desc limit 1
    ) place on true
  ), logged_for as (
    select reader_id, from_state, state, sandbox_id, generation, turn_id, step_id, case when turn_id is null then changes else
      (changes::jsonb || jsonb_build_array(json_build_object('type', 'note', 'turnId', turn_id, 'stepId', step_id, 'data', json_build_object('text', $5::text))))::json
      end as events from placed
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length(events), transcript_seq = transcript_seq + case when turn_id is null then 0 else 1 end
    from logged_for where conversations.conversation_id = reader_id and from_state <> logged_for.state and logged_for.state <> 'creating'
    returning conversations.conversation_id, event_seq, transcript_seq, turn_id, step_id, 'lost-' || sandbox_id || '-' || generation as key, events
  ), noted as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select conversation_id, transcript_seq, key, turn_id, step_id, clock_timestamp(), json_build_object('role', 'note', 'text', $5::text)
    from counter where turn_id is not null
  ), logged as (${insertEvents('counter.events')})
  select ${SANDBOX_COLUMNS}, (select json_agg(conversation_id) from counter) as told from changed`;
}

/** `joined`: another caller has made the promise. */
const PROMISE = `with seen as (
    select sandbox_id as seen_id, promised_for = 'wake' and promised_on = $3 as joined from sandboxes
    where sandbox_id = $1 and generation = $2 and state in ${REST} for update
  )
  update sandboxes set promised_on = $3, promised_for = 'wake', promised_at = clock_timestamp() from seen where sandbox_id = seen_id
  returning ${SANDBOX_COLUMNS}, joined, promised_at::text as token`;
const RELEASE = `update sandboxes set promised_on = null, promised_for = null, promised_at = null where sandbox_id = $1 and state in ${REST}
  and (promised_at = $2::timestamptz or generation = $3 and promised_for = 'rest')`;
const LIST_PROMISED = `select ${SANDBOX_COLUMNS}, promised_at::text as token from sandboxes
  where promised_on = $1 and promised_at < clock_timestamp() - $2::float8 * interval '1 millisecond'`;

const ONE = `select ${SANDBOX_COLUMNS} from sandboxes where sandbox_id = $1`;
const OF_CONVERSATION = `select ${SANDBOX_COLUMNS} from sandboxes where conversation_id = $1`;
const DRAW_FENCE = `select nextval('sandbox_fences')::integer as fence`;
const WITHDRAW = 'delete from sandboxes where sandbox_id = $1 and generation = $2 returning sandbox_id';
const TOUCH = 'update sandboxes set last_used_at = clock_timestamp() where sandbox_id = $1';

const PROLONG = `update sandboxes set expires_at = case when expires_at is not null then greatest(expires_at, clock_timestamp() + $2 * interval '1 ms') end
  where sandbox_id = $1 and state <> 'destroyed' returning sandbox_id`;
const EXPIRED = `select ${SANDBOX_COLUMNS} from sandboxes where expires_at <= statement_timestamp() and state <> 'destroyed'
  and (coalesce(options->>'onTtl', 'destroy') = 'destroy' or state in ('running', 'frozen') or (state = 'hibernated' and options->>'onTtl' = 'stop'))
  order by expires_at`;
const SET_EGRESS = `update sandboxes set options = (options::jsonb || jsonb_build_object('egress', $2::jsonb))::json where sandbox_id = $1 and state <> 'destroyed'`;
/** The lifetime of a sandbox that belongs to a conversation is decided by the conversation. */
const ADOPT = `update sandboxes set conversation_id = $3::text, expires_at = case when $3::text is null then expires_at end
  where sandbox_id = $1 and tenant_id = $2 and (conversation_id is null or conversation_id = $3::text
    or exists (select from conversations former where former.conversation_id = sandboxes.conversation_id and former.state = 'closed' and former.removing_at is null for share))
  returning ${SANDBOX_COLUMNS}`;

export function createSandboxRows({ database, announcer }: { database: Database; announcer: Announcer }): Store['sandboxes'] {
  const one = async (name: string, sql: string, values: SqlValue[]) => {
    const rows = await database.query<SandboxSqlRow>(name, sql, values);
    return rows.map(toSandbox)[0];
  };
  const changed = async (name: string, sql: string, values: SqlValue[]) => {
    const [row] = await database.query<SandboxSqlRow & { told: string[] | null }>(name, sql, values);
    for (const conversationId of row?.told ?? []) announcer.announce(conversationId);
    return row && toSandbox(row);
  };
  return {
    async ensure(row) {
      const conversationId = row.conversationId ?? null;
      const found =
        (await one('sandboxes.insert', INSERT, [
          row.sandboxId,
          conversationId,
          row.tenantId,
          row.state,
          row.hostId,
          row.containerName,
          row.volumeName,
          toJsonText(row.options),
          row.ttlMs ?? null,
          row.fence ?? null,
        ])) ?? (await one('sandboxes.find', FIND, [row.sandboxId, conversationId]));
      // Another caller inserted it and removed it again between the two statements.
      if (!found) throw failure('SANDBOX_CONFLICT', { sandboxId: row.sandboxId });
      return found;
    },
    drawFence: () => drawFence(database),
    get: (sandboxId) => one('sandboxes.get', ONE, [sandboxId]),
    ofConversation: (conversationId) => one('sandboxes.ofConversation', OF_CONVERSATION, [conversationId]),
    async list({ hostId, states }) {
      const sql = `select ${SANDBOX_COLUMNS} from sandboxes where ($1::text is null or host_id = $1) and ($2::text[] is null or state = any($2)) order by created_at, sandbox_id`;
      const rows = await database.query<SandboxSqlRow>('sandboxes.list', sql, [hostId ?? null, states ?? null]);
      return rows.map(toSandbox);
    },
    change: (sandboxId, generation, change) =>
      changed('sandboxes.change', CHANGE, [sandboxId, generation, ...changeValues(change), change.seenFence ?? null, change.ifExpired ?? null]),
    takeOver: (sandboxId, generation, change, lostAfterMs) =>
      changed('sandboxes.takeOver', TAKE_OVER, [sandboxId, generation, ...changeValues(change), lostAfterMs, change.ifExpired ?? null]),
    hold: (sandboxId, mode, work) => database.withLock(`sandbox ${sandboxId}`, mode, async () => work(await one('sandboxes.get', ONE, [sandboxId]))),
    prolong: async (sandboxId, ttlMs) => (await database.query('sandboxes.prolong', PROLONG, [sandboxId, ttlMs])).length > 0,
    async setEgress(sandboxId, rules) {
      await database.query('sandboxes.setEgress', SET_EGRESS, [sandboxId, toJsonText(rules)]);
    },
    listExpired: async () => (await database.query<SandboxSqlRow>('sandboxes.listExpired', EXPIRED, [])).map(toSandbox),
    adopt: (sandboxId, tenantId, conversationId) => one('sandboxes.adopt', ADOPT, [sandboxId, tenantId, conversationId ?? null]),
    ...createPromises(database),
    async touch(sandboxId) {
      await database.query('sandboxes.touch', TOUCH, [sandboxId]);
    },
    async remove(sandboxId) {
      await database.query('sandboxes.remove', 'delete from sandboxes where sandbox_id = $1', [sandboxId]);
    },
    withdraw: async (sandboxId, generation) => (await database.query('sandboxes.withdraw', WITHDRAW, [sandboxId, generation])).length > 0,
  };
}

function createPromises(database: Database): Pick<Store['sandboxes'], 'promise' | 'release' | 'listPromised'> {
  return {
    async promise(sandboxId, generation, hostId) {
      const [row] = await database.query<SandboxSqlRow & { joined: boolean | null; token: string }>('sandboxes.promise', PROMISE, [
        sandboxId,
        generation,
        hostId,
      ]);
      return row && { row: toSandbox(row), ...(row.joined !== true && { token: row.token }) };
    },
    async release(sandboxId, promise) {
      const { token, generation } = { token: null, generation: null, ...promise };
      await database.query('sandboxes.release', RELEASE, [sandboxId, token, generation]);
    },
    async listPromised(hostId, forMs) {
      const rows = await database.query<SandboxSqlRow & { token: string }>('sandboxes.listPromised', LIST_PROMISED, [hostId, forMs]);
      return rows.map((row) => ({ row: toSandbox(row), token: row.token }));
    },
  };
}

async function drawFence(database: Database): Promise<number> {
  const [drawn] = await database.query<{ fence: number }>('sandboxes.drawFence', DRAW_FENCE, []);
  if (!drawn) throw failure('INTERNAL', { problem: 'Postgres has given no number for a container' });
  return drawn.fence;
}

function changeValues({
  state,
  containerId,
  fence,
  lost,
  filesLost = false,
  hostId,
  volumeName,
  archive,
  paused = false,
  promisedFor,
}: SandboxChange): SqlValue[] {
  const packed = archive === undefined ? null : toJsonText(archive);
  return [state, containerId ?? null, lost ?? null, filesLost, hostId ?? null, volumeName ?? null, packed, paused, fence ?? null, promisedFor ?? null];
}
