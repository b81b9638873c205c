import { failure } from '../contracts/errors.ts';
import type { TranscriptEntry } from '../contracts/transcript.ts';
import type { Database } from './database.ts';
import { toJsonText } from './json-text.ts';
import type { Store } from './store.ts';

const APPEND = `with counter as (
    update conversations set transcript_seq = transcript_seq + 1
    where conversation_id = $1 and not exists (select 1 from transcript where conversation_id = $1 and key = $4)
    returning conversation_id, transcript_seq
  ), added as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select conversation_id, transcript_seq, $4, $2, $3, clock_timestamp(), $5 from counter
    on conflict (conversation_id, key) do nothing returning 1
  )
  select exists (select 1 from added) as added, exists (select 1 from conversations where conversation_id = $1) as known`;

const READ = 'select seq, turn_id, step_id, at, entry from transcript where conversation_id = $1 and seq > $2 order by seq';

interface Row {
  seq: number;
  turn_id: string;
  step_id: string | null;
  at: Date;
  entry: TranscriptEntry;
}

export function createTranscript({ database }: { database: Database }): Store['transcript'] {
  return {
    async append(conversationId, turnId, stepId, key, entry) {
      const values = [conversationId, turnId, stepId ?? null, key, toJsonText(entry)];
      const [result] = await database.query<{ added: boolean; known: boolean }>('transcript.append', APPEND, values);
      if (!result?.known) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      return result.added;
    },
    async read(conversationId, afterSeq = 0) {
      const rows = await database.query<Row>('transcript.read', READ, [conversationId, afterSeq]);
      return rows.map((row) => ({
        seq: row.seq,
        turnId: row.turn_id,
        ...(row.step_id !== null && { stepId: row.step_id }),
        at: row.at.toISOString(),
        entry: row.entry,
      }));
    },
  };
}
