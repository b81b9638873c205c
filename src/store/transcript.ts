import { failure } from '../contracts/errors.ts';
import type { ClientTools } from '../contracts/client-tool.ts';
import { saidIn, type Answer, type CutOff, type StoredEntry, type TranscriptEntry } from '../contracts/transcript.ts';
import { createKeptTranscripts } from './conversation/kept-transcripts.ts';
import type { Announcer } from './database/announcer.ts';
import { entriesOf } from './database/entries-of.ts';
import { appendingOnce, countEvents, eventsText, insertEvents } from './database/event-sql.ts';
import type { Database } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import type { Store } from './store.ts';

const APPEND = `with counter as (
    update conversations set transcript_seq = transcript_seq + 1, stored_bytes = stored_bytes + octet_length($5::json::text)
    where conversation_id = $1 and not exists (select 1 from transcript where conversation_id = $1 and key = $4)
    returning conversation_id, transcript_seq
  ), added as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select conversation_id, transcript_seq, $4, $2, $3, clock_timestamp(), $5::json from counter returning 1
  )
  select exists (select 1 from added) as added, exists (select 1 from conversations where conversation_id = $1) as known`;

/** `moved`: since the statement began, others have logged events, which it does not see. The end of the turn may be one of them. */
const ADD_ANSWER = `with seen as materialized (
    select event_seq, exists (select 1 from transcript where conversation_id = $1 and key = $3)
      or (select 1 from events where conversation_id = $1 and key = $12 limit 1) is not null as late
    from conversations where conversation_id = $1
  ), counter as (
    update conversations set transcript_seq = transcript_seq + 1, ${countEvents('$11')} + octet_length($4::json::text)
    where conversation_id = $1 and event_seq = (select event_seq from seen where not late)
    returning conversation_id, transcript_seq, event_seq, tenant_id, agent_id, user_id
  ), logged as (${insertEvents('$11')}
  ), added as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select conversation_id, transcript_seq, $3, $2, $3, clock_timestamp(), $4::json from counter returning conversation_id
  ), used as (
    insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model,
      input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd)
    select conversation_id, $3, $2, tenant_id, agent_id, user_id, $5, $6, $7, $8, $9, $10 from counter join added using (conversation_id)
  )
  select exists (select 1 from added) as added, exists (select 1 from seen) as known,
    exists (select 1 from seen where not late) and not exists (select 1 from added) as moved`;

const REPLACE_MESSAGE = `with earlier as (
    select seq, octet_length(entry::text) as bytes from transcript where conversation_id = $1 and seq = $2 and entry->>'role' = 'user' for update
  ), counted as (
    update conversations set stored_bytes = stored_bytes + octet_length($3::json::text) - earlier.bytes from earlier where conversation_id = $1
  )
  update transcript set entry = $3::json from earlier where transcript.conversation_id = $1 and transcript.seq = earlier.seq`;

const READ = `select seq, turn_id, step_id, at, entry, rewound
  from ${entriesOf('$1', 'seq > $2::bigint and not rewound order by seq limit $3')} entries order by seq limit $3`;

const READ_ALL = `select seq, turn_id, step_id, at, entry, rewound from ${entriesOf('$1', 'seq > $2::bigint order by seq limit $3')} entries order by seq limit $3`;

const DECLARES = `entry->>'role' = 'user' and entry->'clientTools' is not null and not rewound order by seq desc limit 1`;
export const CLIENT_TOOLS = `select entry->'clientTools' as tools from ${entriesOf('$1', DECLARES)} entries order by seq desc limit 1`;

const MESSAGE_OF = `select seq, turn_id, step_id, at, entry from transcript
  where conversation_id = $1 and turn_id = $2 and entry->>'role' = 'user' order by seq desc limit 1`;

const ANSWER_OF = `select entry from transcript where conversation_id = $1 and key = $2 and entry->>'role' = 'assistant'`;

const SPEAKS = `turn_id = $2 and entry->>'role' = 'assistant' and exists (
    select from json_array_elements(entry->'parts') part where part->>'type' = 'text' and part->>'text' <> '') order by seq desc limit 1`;
const ANSWERS = `turn_id = $2 and entry->>'role' = 'assistant' order by seq desc limit 1`;
/** From the newest entry back, so that the other turns of a long conversation are not read. */
const LAST_SAID = `select (select entry from ${entriesOf('$1', SPEAKS)} entries order by seq desc limit 1) as entry,
  (select entry->>'cutOff' from ${entriesOf('$1', ANSWERS)} entries order by seq desc limit 1) as "cutOff"`;

const LAST = `select seq, turn_id, step_id, at, entry, rewound from ${entriesOf('$1', 'not rewound order by seq desc limit 1')} entries order by seq desc limit 1`;

const TURN_OF = `select turn_id from transcript where conversation_id = $1 and key = $2 and entry->>'role' = 'user'`;

const NEWEST_TURN = `select turn_id from transcript where conversation_id = $1 order by seq desc limit 1`;

interface Row {
  seq: number;
  turn_id: string;
  step_id: string | null;
  at: Date;
  entry: TranscriptEntry;
  rewound?: boolean;
}

export function createTranscript({ database, announcer }: { database: Database; announcer: Announcer }): Store['transcript'] {
  return {
    current: createKeptTranscripts({ database }),
    async append(conversationId, turnId, stepId, key, entry) {
      const values = [conversationId, turnId, stepId ?? null, key, toJsonText(entry)];
      const [result] = await appendingOnce(() => database.query<{ added: boolean; known: boolean }>('transcript.append', APPEND, values));
      if (!result?.known) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      return result.added;
    },
    async addAnswer({ conversationId, turnId, stepId, endKey }, entry, model, events = []) {
      const { inputTokens, outputTokens, cacheReadTokens = null, cacheWriteTokens = null, costUsd = null } = entry.usage;
      const used = [model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd];
      const values = [conversationId, turnId, stepId, toJsonText(entry), ...used, eventsText(events), endKey ?? null];
      const result = await whenStill(() => appendingOnce(() => database.query<AddedAnswer>('transcript.addAnswer', ADD_ANSWER, values)));
      if (!result?.known) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      if (events.length > 0) announcer.announce(conversationId);
      return result.added;
    },
    async replaceMessage(conversationId, seq, entry) {
      await database.query('transcript.replaceMessage', REPLACE_MESSAGE, [conversationId, seq, toJsonText(entry)]);
    },
    async clientTools(conversationId) {
      const [row] = await database.query<{ tools: ClientTools }>('transcript.clientTools', CLIENT_TOOLS, [conversationId]);
      return row?.tools;
    },
    async read(conversationId, afterSeq = 0, limit) {
      const rows = await database.query<Row>('transcript.read', READ, [conversationId, afterSeq, limit ?? null]);
      return rows.map(entryOf);
    },
    async readAll(conversationId, afterSeq = 0, limit) {
      const rows = await database.query<Row>('transcript.readAll', READ_ALL, [conversationId, afterSeq, limit ?? null]);
      return rows.map(entryOf);
    },
    async answerOf(conversationId, stepId) {
      const [row] = await database.query<{ entry: Answer }>('transcript.answerOf', ANSWER_OF, [conversationId, stepId]);
      return row?.entry;
    },
    async lastSaid(conversationId, turnId) {
      const [row] = await database.query<{ entry: Answer | null; cutOff: CutOff | null }>('transcript.lastSaid', LAST_SAID, [conversationId, turnId]);
      const text = row?.entry ? saidIn(row.entry) : '';
      return { text, ...(row?.cutOff && { cutOff: row.cutOff }) };
    },
    async last(conversationId) {
      const [row] = await database.query<Row>('transcript.last', LAST, [conversationId]);
      return row && entryOf(row);
    },
    async messageOf(conversationId, turnId) {
      const [row] = await database.query<Row>('transcript.messageOf', MESSAGE_OF, [conversationId, turnId]);
      return row && entryOf(row);
    },
    async turnOf(conversationId, messageId) {
      const [row] = await database.query<{ turn_id: string }>('transcript.turnOf', TURN_OF, [conversationId, messageId]);
      return row?.turn_id;
    },
    async newestTurn(conversationId) {
      const [row] = await database.query<{ turn_id: string }>('transcript.newestTurn', NEWEST_TURN, [conversationId]);
      return row?.turn_id;
    },
  };
}

interface AddedAnswer {
  added: boolean;
  known: boolean;
  moved: boolean;
}

async function whenStill(add: () => Promise<AddedAnswer[]>): Promise<AddedAnswer | undefined> {
  for (;;) {
    const [result] = await add();
    if (!result?.moved) return result;
  }
}

function entryOf({ seq, turn_id: turnId, step_id: stepId, at, entry, rewound }: Row): StoredEntry {
  const place = { seq, turnId, ...(stepId !== null && { stepId }) };
  return { ...place, at: at.toISOString(), ...(rewound && { rewound }), entry };
}
