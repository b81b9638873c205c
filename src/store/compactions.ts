import type { Compaction } from '../contracts/transcript.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database } from './database/database.ts';
import { appendingOnce, countEvents, eventsText, insertEvents, NEW_EVENTS, newEvents } from './database/event-sql.ts';
import { toJsonText } from './database/json-text.ts';

type LoggedEvent = { type: 'context.compacted' | 'context.restored'; turnId?: string; data: object; key: string };

/** What the prompts of conversations leave out. */
export interface CompactionRows {
  /** In the order in which they were made, with those that were undone. */
  list(conversationId: string): Promise<Compaction[]>;
  /**
   * Adds a compaction with its event, which has a key, and what the model calls for its summary used, in one transaction. Returns false when there is one with the id:
   * then nothing is stored.
   */
  add(place: { conversationId: string; turnId: string; model: string }, compaction: Omit<Compaction, 'at'>, event: LoggedEvent): Promise<boolean>;
  /** Undoes the newest one that is not undone, with the event that `told` makes of it. Returns false when there is none, or an event with that key. */
  undo(conversationId: string, told: (compaction: Compaction) => LoggedEvent): Promise<boolean>;
}

const LIST = `select compaction_id, at, after_seq, undone_after_seq, reason, left_out, tokens_before::float8 as tokens_before, tokens_after::float8 as tokens_after, usage
  from compactions where conversation_id = $1 order by number`;

const ADD = `with ${newEvents('$2')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)} + octet_length($8::json::text)
    where conversation_id = $1 and not exists (select 1 from compactions where conversation_id = $1 and compaction_id = $3)
    returning conversation_id, event_seq, tenant_id, agent_id, user_id
  ), added as (
    insert into compactions (conversation_id, number, compaction_id, after_seq, reason, left_out, tokens_before, tokens_after, usage)
    select conversation_id, (select coalesce(max(number), 0) + 1 from compactions where conversation_id = $1), $3, $6, $7, $8::json, $9, $10, $16::json from counter
    returning conversation_id
  ), logged as (${insertEvents(NEW_EVENTS)}
  ), used as (
    insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model,
      input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd)
    select conversation_id, $3, $4, tenant_id, agent_id, user_id, $5, $11, $12, $13, $14, $15 from counter join added using (conversation_id)
    where $16::text is not null
  )
  select 1 from added`;

const UNDO = `with ${newEvents('$3')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)}
    where conversation_id = $1 and json_array_length(${NEW_EVENTS}) > 0
      and exists (select 1 from compactions where conversation_id = $1 and compaction_id = $2 and undone_after_seq is null)
    returning conversation_id, event_seq, transcript_seq
  ), undone as (
    update compactions set undone_after_seq = transcript_seq from counter
    where compactions.conversation_id = counter.conversation_id and compaction_id = $2 and undone_after_seq is null returning 1
  ), logged as (${insertEvents(NEW_EVENTS)})
  select 1 from undone`;

interface Row {
  compaction_id: string;
  at: Date;
  after_seq: number;
  undone_after_seq: number | null;
  reason: Compaction['reason'];
  left_out: Compaction['leftOut'];
  tokens_before: number;
  tokens_after: number;
  usage: Compaction['usage'] | null;
}

export function createCompactions({ database, announcer }: { database: Database; announcer: Announcer }): CompactionRows {
  const list = async (conversationId: string) => (await database.query<Row>('compactions.list', LIST, [conversationId])).map(compactionOf);
  return {
    list,
    async add({ conversationId, turnId, model }, { compactionId, afterSeq, reason, leftOut, tokensBefore, tokensAfter, usage }, event) {
      const { inputTokens = 0, outputTokens = 0, cacheReadTokens = null, cacheWriteTokens = null, costUsd = null } = usage ?? {};
      const place = [conversationId, eventsText([event]), compactionId, turnId, model];
      const made = [afterSeq, reason, toJsonText(leftOut), tokensBefore, tokensAfter];
      const used = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, usage ? toJsonText(usage) : null];
      const added = await appendingOnce(() => database.query('compactions.add', ADD, [...place, ...made, ...used]));
      if (added.length > 0) announcer.announce(conversationId);
      return added.length > 0;
    },
    async undo(conversationId, told) {
      const newest = (await list(conversationId)).findLast(({ undoneAfterSeq }) => undoneAfterSeq === undefined);
      if (!newest) return false;
      const values = [conversationId, newest.compactionId, eventsText([told(newest)])];
      const undone = await appendingOnce(() => database.query('compactions.undo', UNDO, values));
      if (undone.length > 0) announcer.announce(conversationId);
      return undone.length > 0;
    },
  };
}

function compactionOf(row: Row): Compaction {
  const { compaction_id: compactionId, at, after_seq: afterSeq, undone_after_seq: undoneAfterSeq, reason, left_out: leftOut } = row;
  const undone = undoneAfterSeq === null ? {} : { undoneAfterSeq };
  const tokens = { tokensBefore: row.tokens_before, tokensAfter: row.tokens_after };
  return { compactionId, at: at.toISOString(), afterSeq, ...undone, reason, leftOut, ...tokens, ...(row.usage && { usage: row.usage }) };
}
