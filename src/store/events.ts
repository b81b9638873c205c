import { failure } from '../contracts/errors.ts';
import type { EventData } from '../contracts/events.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database } from './database/database.ts';
import { EVENT_COLUMNS, toEvent, type EventRow } from './database/event-row.ts';
import { appendingOnce, countEvents, eventsText, haveKeys, insertEvents, NEW_EVENTS, newEvents } from './database/event-sql.ts';
import { createEventWatch } from './database/event-watch.ts';
import { followEvents } from './follow-events.ts';
import { followTopic } from './database/follow-topic.ts';
import type { Listener } from './database/listener.ts';
import type { EventPage, Store } from './store.ts';

const DEFAULT_LIMIT = 500;
const PAGE_BYTES = 4 * 1024 * 1024;

const APPEND = `with counter as (
    update conversations set ${countEvents('$2')} where conversation_id = $1 returning conversation_id, event_seq
  ), logged as (${insertEvents('$2')})
  select 1 from counter`;

const APPEND_ONCE = `with ${newEvents('$2')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)} where conversation_id = $1 returning conversation_id, event_seq
  ), logged as (${insertEvents(NEW_EVENTS)})
  select 1 from counter`;

/** An attempt that was thought dead may go on when another one has stored the answer of its step, or the turn has ended. */
const APPEND_OPEN = `with counter as (
    update conversations set ${countEvents('$2')} where conversation_id = $1
      and not exists (select 1 from transcript where conversation_id = $1 and key = $3)
      and (select 1 from events where conversation_id = $1 and key = $4 limit 1) is null
    returning conversation_id, event_seq
  ), logged as (${insertEvents('$2')})
  select exists (select 1 from counter) as open, exists (select 1 from conversations where conversation_id = $1) as known`;

/** First limits by the stored, compressed size, which is cheap to read. Only a few pages of that are then decompressed and measured as text. */
const READ = `select ${EVENT_COLUMNS}, (select event_seq from conversations where conversation_id = $1) as newest from (
    select *, sum(octet_length(data::text)) over (order by seq) - octet_length(data::text) as bytes_before from (
      select *, sum(pg_column_size(data)) over (order by seq) - pg_column_size(data) as stored_before from (
        select * from events where conversation_id = $1 and seq > $2::bigint order by seq limit $3
      ) as counted
    ) as stored where stored_before < $4
  ) as page where bytes_before < $4 order by seq`;

const TOLD_OUTPUT = `select data->>'stream' as stream, max((data->>'offset')::bigint + (data->>'bytes')::bigint)::float8 as told from events
  where conversation_id = $1 and type = 'tool.output' and data->>'callId' = $2 group by 1`;

const SENT_BY = `select (data->>'index')::integer as index from events where conversation_id = $1 and type = 'message.sent' and data->>'callId' = $2`;

const TURN_START = `select seq from events where conversation_id = $1 and turn_id = $2 and type = 'turn.started' order by seq limit 1`;

/** The newest message that no turn has taken yet. A turn gets its id from the message that begins it. */
const WAITING_MESSAGE = `(select 1 from messages m where conversation_id = $1
    and not exists (select from transcript t where t.conversation_id = $1 and t.key = m.message_id) order by message_id desc limit 1)`;
/** A turn that has neither begun nor ended does both later, unless nothing waits. */
const BEFORE_END = `select coalesce(
    (select seq from events where conversation_id = $1 and turn_id = $2 and type = 'turn.started' order by seq limit 1),
    (select seq - 1 from events where conversation_id = $1 and turn_id = $2 and type = 'turn.finished' order by seq limit 1),
    (select event_seq from conversations where conversation_id = $1 and (state <> 'idle' or exists ${WAITING_MESSAGE})),
    (select 0 where not exists (select from conversations where conversation_id = $1))) as seq`;

const MESSAGE_STARTS = `select seq from events where conversation_id = $1 and ($2::bigint is null or seq < $2)
  and (type = 'turn.started' or (type = 'message.received' and data->>'steers' is distinct from 'true')) order by seq desc limit $3`;

const LAST_TURN = `select data from events where conversation_id = $1 and type = 'turn.finished' order by seq desc limit 1`;

export function createEvents({ database, announcer, listener }: { database: Database; announcer: Announcer; listener: Listener }): Store['events'] {
  const readPage = async (conversationId: string, afterSeq: number, { limit = DEFAULT_LIMIT, bytes = PAGE_BYTES }: EventPage = {}) => {
    const rows = await database.query<EventRow & { newest: number }>('events.read', READ, [conversationId, afterSeq, limit, bytes]);
    const last = rows.at(-1);
    return { events: rows.map(toEvent), isMore: last !== undefined && last.seq < last.newest };
  };
  const watch = createEventWatch({ database, listener });
  return {
    async append(conversationId, events) {
      if (events.length === 0) return;
      const values = [conversationId, eventsText(events)];
      const found = haveKeys(events)
        ? await appendingOnce(() => database.query('events.appendOnce', APPEND_ONCE, values))
        : await database.query('events.append', APPEND, values);
      if (found.length === 0) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      announcer.announce(conversationId);
    },
    async appendOpen({ conversationId, stepId, endKey }, events) {
      const values = [conversationId, eventsText(events), stepId, endKey];
      const [found] = await database.query<{ open: boolean; known: boolean }>('events.appendOpen', APPEND_OPEN, values);
      if (!found?.known) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      if (found.open) announcer.announce(conversationId);
      return found.open;
    },
    read: async (conversationId, afterSeq, page) => (await readPage(conversationId, afterSeq, page)).events,
    async turnStart(conversationId, turnId) {
      const [found] = await database.query<{ seq: number }>('events.turnStart', TURN_START, [conversationId, turnId]);
      return found?.seq ?? 0;
    },
    async beforeEnd(conversationId, turnId) {
      const [found] = await database.query<{ seq: number | null }>('events.beforeEnd', BEFORE_END, [conversationId, turnId]);
      return found?.seq ?? undefined;
    },
    async messageStarts(conversationId, { before, limit }) {
      const rows = await database.query<{ seq: number }>('events.messageStarts', MESSAGE_STARTS, [conversationId, before ?? null, limit]);
      return rows.map(({ seq }) => seq);
    },
    async lastTurn(conversationId) {
      const [found] = await database.query<{ data: EventData['turn.finished'] }>('events.lastTurn', LAST_TURN, [conversationId]);
      return found?.data;
    },
    async toldOutput(conversationId, callId) {
      const found = await database.query<{ stream: 'stdout' | 'stderr'; told: number }>('events.toldOutput', TOLD_OUTPUT, [conversationId, callId]);
      const told = new Map(found.map((row) => [row.stream, row.told]));
      return { stdout: told.get('stdout') ?? 0, stderr: told.get('stderr') ?? 0 };
    },
    async sentBy(conversationId, callId) {
      const rows = await database.query<{ index: number }>('events.sentBy', SENT_BY, [conversationId, callId]);
      return rows.map(({ index }) => index);
    },
    news: (conversationId, signal) => followTopic(watch, conversationId, { signal }),
    follow: (conversationId, afterSeq, signal) => followEvents({ read: readPage, watch, conversationId, afterSeq, signal }),
  };
}
