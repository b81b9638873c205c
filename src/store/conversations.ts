import { failure } from '../contracts/errors.ts';
import type { ConversationState, ConversationStatus, LastTurn, SandboxTier } from '../contracts/conversation.ts';
import type { PlanItem } from '../contracts/plan/plan.ts';
import type { EventData } from '../contracts/events.ts';
import type { LeftForPlugins } from '../contracts/usage.ts';
import type { ForkedFrom } from '../contracts/forks/fork.ts';
import type { WaitsForRoom } from '../contracts/hosts/room.ts';
import type { ImportedFrom } from '../contracts/imports/import.ts';
import type { Announcer } from './database/announcer.ts';
import { createMessageAcceptance } from './accept-message.ts';
import { createConversationBytes } from './conversation-bytes.ts';
import type { Database, SqlValue } from './database/database.ts';
import { appendingOnce, countEvents, eventsText, insertEvents, NEW_EVENTS, newEvents } from './database/event-sql.ts';
import { toJsonText } from './database/json-text.ts';
import type { SandboxState } from './sandbox-rows.ts';
import { roomWait } from './conversation/room-queue.ts';
import { backupState, toBackupState } from './blobs/backups.ts';
import type { BackupState } from '../contracts/checkpoints/backup.ts';
import { newestPlan } from './conversation/plans.ts';
import { toTotals, USAGE_TOTALS, type TotalsRow } from './service/usage-sql.ts';
import type { WaitingCall } from '../contracts/client-tool.ts';
import type { ConversationRow, OpenConversation, Store } from './store.ts';

// Running calls and the sandbox's state change more often than the status is saved, so they are read from their own tables.
const COLUMNS = `conversation_id, agent_id, user_id, tenant_id, state, status, created_at, updated_at, stored_bytes::float8 as stored_bytes,
  (select s.state from sandboxes s where s.conversation_id = conversations.conversation_id) as sandbox_state,
  (select json_agg(json_build_object('callId', t.call_id, 'tool', t.tool, 'waits', c.call_id is not null,
      'expiresAtMs', floor(extract(epoch from c.deadline_at) * 1000)) order by t.started_at, t.position)
    from tool_calls t left join client_calls c on c.call_id = t.call_id and c.state = 'waiting'
    where t.conversation_id = conversations.conversation_id and t.state = 'running' and t.turn_id = status->>'turnId') as running_calls,
  (select json_build_object('turnId', e.turn_id, 'at', e.at, 'data', e.data) from events e
    where e.conversation_id = conversations.conversation_id and e.type = 'turn.finished' order by e.seq desc limit 1) as last_turn,
  (${newestPlan('conversations.conversation_id')}) as plan,
  (${backupState('conversations.conversation_id')}) as backup,
  (${roomWait('conversations.conversation_id')}) as room_wait,
  (select json_build_object('conversationId', f.source_id, 'transcriptSeq', f.transcript_seq) from forks f
    where f.conversation_id = conversations.conversation_id) as forked_from,
  (select json_build_object('conversationId', i.source_id, 'exportedAt', i.exported_at) from imports i
    where i.conversation_id = conversations.conversation_id) as imported_from,
  (select count(*)::integer from forks f where f.source_id = conversations.conversation_id) as forks,
  (select row_to_json(used) from (select ${USAGE_TOTALS} from model_calls m where m.conversation_id = conversations.conversation_id) used) as used`;

/** A call that has begun; `waits`: for a client. */
interface RunningCall {
  callId: string;
  tool: string;
  waits: boolean;
  expiresAtMs: number | null;
}

interface Row {
  conversation_id: string;
  agent_id: string;
  user_id: string;
  tenant_id: string;
  state: ConversationState;
  status: ConversationStatus;
  created_at: Date;
  updated_at: Date;
  stored_bytes: number;
  sandbox_state: SandboxState | null;
  running_calls: RunningCall[] | null;
  used: TotalsRow;
  plan: PlanItem[] | null;
  backup: BackupState | null;
  room_wait: WaitsForRoom | null;
  forked_from: ForkedFrom | null;
  imported_from: ImportedFrom | null;
  forks: number;
  last_turn: { turnId: string | null; at: string; data: EventData['turn.finished'] } | null;
}

const CREATE = `with counter as (
    insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, event_seq)
    values ($1, $2, $3, $4, $5, $6, json_array_length($7::json)) on conflict do nothing returning conversation_id, event_seq
  ), logged as (${insertEvents('$7')})
  select 1 from counter`;

const ASKED_TIMES = 3;
/** Who asks for an existing conversation may start its workflow again: it is not removed then. */
const ASK = `update conversations set asked_at = clock_timestamp() where conversation_id = $1 returning removing_at is not null as removing`;

/** Not when all its events are in the log: the status came with them, and later ones may have been saved before an attempt that was thought dead goes on. */
const REPLACES = `(json_array_length($4::json) = 0 or json_array_length(${NEW_EVENTS}) > 0)`;
const SAVE_STATUS = `with ${newEvents('$4')}, counter as (
    update conversations set state = case when ${REPLACES} then $2 else state end, status = case when ${REPLACES} then $3::json else status end,
      updated_at = clock_timestamp(), ${countEvents(NEW_EVENTS)}
    where conversation_id = $1 returning conversation_id, event_seq
  ), logged as (${insertEvents(NEW_EVENTS)})
  select 1 from counter`;

/** All but `closed`. */
const OPEN: Record<Exclude<ConversationState, 'closed'>, true> = { running: true, idle: true, 'awaiting-approval': true, paused: true, closing: true };
// An index finds the states that are named here, and would not find those that are not `closed`: among many closed ones, it reads only the open ones.
const LIST_OPEN = `select conversation_id as "conversationId", agent_id as "agentId", status,
    extract(epoch from clock_timestamp() - updated_at)::float8 * 1000 as "untouchedMs" from conversations
  where conversation_id in (select conversation_id from conversations
    where state = any('{${Object.keys(OPEN).join()}}') and conversation_id > $1 order by conversation_id limit $2) order by conversation_id`;

// The turn that was under way is removed from the status: no process will finish it.
const CLOSE = `with counter as (
    update conversations set state = 'closed', updated_at = clock_timestamp(), event_seq = event_seq + json_array_length($2::json),
      status = ((status::jsonb - 'turnId' - 'paused' - 'waitsForPlace') || '{"state":"closed","queued":0,"pendingApprovals":[]}'::jsonb)::json
    where conversation_id = $1 and state <> 'closed' returning conversation_id, event_seq
  ), logged as (${insertEvents('$2')})
  select 1 from counter`;

export function createConversations({ database, announcer }: { database: Database; announcer: Announcer }): Store['conversations'] {
  const create: Store['conversations']['create'] = async (row) => {
    const { agentId, userId, tenantId } = row;
    const { scheduledBy } = row.status;
    const started = [{ type: 'conversation.started' as const, data: { agentId, userId, tenantId, ...(scheduledBy && { scheduledBy }) } }];
    const values = [row.conversationId, row.agentId, row.userId, row.tenantId, row.state, toJsonText(row.status), eventsText(started)];
    for (let tries = 0; tries < ASKED_TIMES; tries += 1) {
      const created = await database.query('conversations.create', CREATE, values);
      if (created.length > 0) {
        announcer.announce(row.conversationId);
        return true;
      }
      const [asked] = await database.query<{ removing: boolean }>('conversations.ask', ASK, [row.conversationId]);
      if (asked?.removing) throw failure('CONVERSATION_REMOVING', { conversationId: row.conversationId });
      // Without a row, its removal has just ended, or it belongs to another tenant, which the caller finds out.
      if (asked) return false;
    }
    return false;
  };
  return {
    ...createConversationBytes({ database }),
    ...createMessageAcceptance({ database, announcer }),
    create,
    async get(conversationId) {
      const rows = await database.query<Row>('conversations.get', `select ${COLUMNS} from conversations where conversation_id = $1`, [conversationId]);
      return rows.map(toConversation)[0];
    },
    async stateOf(conversationId) {
      const [row] = await database.query<Pick<Row, 'state'>>('conversations.stateOf', 'select state from conversations where conversation_id = $1', [
        conversationId,
      ]);
      return row?.state;
    },
    list: (filter) => list(database, filter),
    listOpen: ({ afterId, limit }) => database.query<OpenConversation>('conversations.listOpen', LIST_OPEN, [afterId, limit]),
    async close(conversationId, data) {
      const closed = await database.query('conversations.close', CLOSE, [conversationId, eventsText([{ type: 'conversation.closed', data }])]);
      if (closed.length > 0) announcer.announce(conversationId);
      return closed.length > 0;
    },
    async saveStatus(status, events) {
      const values = [status.conversationId, status.state, toJsonText(status), eventsText(events)];
      const save = () => appendingOnce(() => database.query('conversations.saveStatus', SAVE_STATUS, values));
      if ((await save()).length === 0) {
        // The workflow was not started by the client, but for example in the Temporal UI.
        await create({ ...status, status });
        await save();
      }
      if (events.length > 0) announcer.announce(status.conversationId);
    },
  };
}

/** Conditions of a list by the field of the filter that sets each. */
const CONDITIONS = {
  state: 'state = ',
  agentId: 'agent_id = ',
  userId: 'user_id = ',
  tenantId: 'tenant_id = ',
  forkedFrom: 'conversation_id in (select conversation_id from forks where source_id = ',
  olderThan: '(created_at, conversation_id) < (select created_at, conversation_id from conversations where conversation_id = ',
} as const;
type ConditionName = keyof typeof CONDITIONS;

async function list(database: Database, filter: Parameters<Store['conversations']['list']>[0]): Promise<ConversationRow[]> {
  const names = (Object.keys(CONDITIONS) as ConditionName[]).filter((name) => filter[name] !== undefined);
  // The words of the index, which a value in a placeholder would not find.
  const inbox = filter.hasApprovals ? 'waiting_calls > 0 and ' : '';
  const conditions =
    names.map((name, index) => `${CONDITIONS[name]}$${index + 2}${name === 'olderThan' || name === 'forkedFrom' ? ')' : ''}`).join(' and ') || 'true';
  const sql = `select ${COLUMNS} from conversations where ${inbox}${conditions} order by created_at desc, conversation_id desc limit $1`;
  const values: SqlValue[] = [filter.limit, ...names.map((name) => filter[name] ?? null)];
  const rows = await database.query<Row>(`conversations.list:${inbox && 'inbox,'}${names.join()}`, sql, values);
  return rows.map(toConversation);
}

function toConversation(row: Row): ConversationRow {
  return {
    conversationId: row.conversation_id,
    agentId: row.agent_id,
    userId: row.user_id,
    tenantId: row.tenant_id,
    state: row.state,
    status: {
      ...withoutCalls(row.status),
      sandboxTier: storedTierOf(row),
      storedBytes: row.stored_bytes,
      ...(row.used.calls > 0 && { usage: toTotals(row.used) }),
      ...(row.forked_from && { forkedFrom: row.forked_from }),
      ...(row.forks > 0 && { forks: row.forks }),
      ...(row.imported_from && { importedFrom: { ...row.imported_from, exportedAt: new Date(row.imported_from.exportedAt).toISOString() } }),
      ...(row.last_turn && { lastTurn: toLastTurn(row.last_turn) }),
      ...(row.plan && row.plan.length > 0 && { plan: row.plan }),
      ...toBackupState(row.backup),
      ...(row.room_wait && { waitsForRoom: row.room_wait }),
      ...callsOf(row),
    },
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

/** Without what the workflow has saved of the calls that wait, and for tasks of plugins. */
function withoutCalls(saved: ConversationStatus & Pick<LeftForPlugins, 'tasksMayUse'>): ConversationStatus {
  const { waitingCalls: _, tasksMayUse: _ofTasks, ...status } = saved;
  return status;
}

function callsOf({ running_calls: calls }: Row): Pick<ConversationStatus, 'runningCalls'> & { waitingCalls?: WaitingCall[] } {
  const runningCalls = (calls ?? []).filter(({ waits }) => !waits).map(({ callId, tool }) => ({ callId, tool }));
  const waiting = (calls ?? []).filter(({ waits }) => waits);
  return {
    runningCalls,
    ...(waiting.length > 0 && {
      waitingCalls: waiting.map(({ callId, tool, expiresAtMs }) => ({ callId, tool, ...(expiresAtMs !== null && { expiresAtMs }) })),
    }),
  };
}

function toLastTurn({ turnId, at, data: { outcome, message } }: NonNullable<Row['last_turn']>): LastTurn {
  return { ...(turnId !== null && { turnId }), outcome, ...(message !== undefined && { message }), at: new Date(at).toISOString() };
}

function storedTierOf({ sandbox_state: state, status }: Row): SandboxTier {
  if (state === null) return status.sandboxTier;
  return state === 'creating' || state === 'warm' ? 'running' : state;
}
