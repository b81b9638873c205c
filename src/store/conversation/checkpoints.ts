import type { Checkpoint } from '../../contracts/checkpoints/checkpoint.ts';
import { failure } from '../../contracts/errors.ts';
import type { EventData } from '../../contracts/events.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Announcer } from '../database/announcer.ts';
import type { Database } from '../database/database.ts';
import { effectsBetween, joinEffects, type Effects } from './effects.ts';
import { entriesOf } from '../database/entries-of.ts';
import { appendingOnce, countEvents, eventsText, insertEvents, NEW_EVENTS, newEvents } from '../database/event-sql.ts';

/** As the sandbox knows it. */
interface Made extends Omit<Checkpoint, 'checkpointId' | 'transcriptSeq'> {
  number: number;
  /** Of a checkpoint of the state before a rewind. */
  rewindId?: string;
}
export interface KeptCheckpoint extends Checkpoint, Pick<Made, 'number' | 'rewindId'> {
  /** Of the last event up to then. */
  eventSeq: number;
  /** What reached beyond the sandbox before the conversation began as a fork that has the checkpoint from its source. */
  earlierEffects?: Effects;
}

/** The checkpoints of conversations; their files are in the volume of the sandbox. */
export interface Checkpoints {
  /** Adds a checkpoint with its event, once, and removes those that the sandbox does not have any more. Returns its id. @throws CONVERSATION_NOT_FOUND */
  add(conversationId: string, made: Made, oldest: number): Promise<string>;
  /** The oldest first. */
  list(conversationId: string): Promise<Checkpoint[]>;
  /** The same, as workers need them. */
  kept(conversationId: string): Promise<KeptCheckpoint[]>;
  /** Records that no file has changed since a checkpoint, up to now. */
  unchangedSince(conversationId: string, checkpoint: Pick<Made, 'number' | 'at'>): Promise<void>;
  effects(conversationId: string, since: KeptCheckpoint): Promise<Effects>;
  /** What the sandbox has lost since then, as the model was told at last. */
  lossSince(conversationId: string, since: Pick<KeptCheckpoint, 'transcriptSeq'>): Promise<string | undefined>;
  /** Makes the transcript as it was at a checkpoint, with the event, once by its key. */
  rewind(conversationId: string, to: KeptCheckpoint, rewindId: string, rewound: EventData['conversation.rewound']): Promise<void>;
}

// A higher number, or the same of another time, is of a volume that is gone: a new one counts from 1 again.
const ADD = `with ${newEvents('$2')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)} where conversation_id = $1 returning conversation_id, event_seq, transcript_seq
  ), logged as (${insertEvents(NEW_EVENTS)}
  ), gone as (
    delete from checkpoints where conversation_id = $1 and checkpoint_id <> $3
      and (number < $6 or number > $4 or (number = $4 and at <> ($5::json->>'at')::timestamptz)) returning 1
  ), added as (
    insert into checkpoints (conversation_id, checkpoint_id, number, turn_id, step_id, at, transcript_seq, files, bytes, changed, added_bytes, left_out,
      rewind_id, event_seq, hidden)
    select conversation_id, $3, $4, $5::json->>'turnId', $5::json->>'stepId', ($5::json->>'at')::timestamptz, transcript_seq, ($5::json->>'files')::bigint,
      ($5::json->>'bytes')::bigint, ($5::json->>'changed')::bigint, ($5::json->>'addedBytes')::bigint, ($5::json->>'leftOut')::bigint,
      $5::json->>'rewindId', event_seq, array(select seq from ${entriesOf('$1', 'rewound')} entries order by seq)
    from counter on conflict do nothing
  )
  select 1 from counter`;

/** Entries are shown or hidden as they were then; newer ones are hidden. What was made of newer ones for prompts no longer counts. */
const REWIND = `with ${newEvents('$2')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)} where conversation_id = $1 returning conversation_id, event_seq, transcript_seq
  ), logged as (${insertEvents(NEW_EVENTS)}
  ), place as (
    select transcript_seq, hidden from checkpoints where conversation_id = $1 and checkpoint_id = $3
  ), before as (
    insert into rewinds (conversation_id, after_seq, hidden)
    select counter.conversation_id, counter.transcript_seq, array(select seq from ${entriesOf('$1', 'rewound')} entries order by seq)
    from counter cross join place where json_array_length(${NEW_EVENTS}) > 0
  ), inherited as (
    update forks set hidden = array(select seq from ${entriesOf('$1')} entries
      where seq <= forks.transcript_seq and (seq > place.transcript_seq or seq = any(place.hidden)) order by seq)
    from counter cross join place where forks.conversation_id = $1 and json_array_length(${NEW_EVENTS}) > 0
  ), changed as (
    update transcript set rewound = not rewound from counter cross join place
    where transcript.conversation_id = $1 and rewound <> (seq > place.transcript_seq or seq = any(place.hidden)) and json_array_length(${NEW_EVENTS}) > 0
  ), undone as (
    update compactions set undone_after_seq = counter.transcript_seq from counter cross join place
    where compactions.conversation_id = $1 and after_seq > place.transcript_seq and undone_after_seq is null and json_array_length(${NEW_EVENTS}) > 0
  )
  select 1 from counter`;

const UNCHANGED = `update checkpoints set unchanged_to = c.transcript_seq from conversations c
  where c.conversation_id = $1 and checkpoints.conversation_id = $1 and checkpoints.number = $2 and checkpoints.at = $3::timestamptz`;

const LOSS = `select entry->>'text' as text from transcript
  where conversation_id = $1 and seq > $2 and starts_with(key, 'lost-') and entry->>'role' = 'note' order by seq desc limit 1`;

const LIST = `select checkpoint_id, number, rewind_id, event_seq, earlier_effects, turn_id, step_id, at, transcript_seq, files::float8 as files, bytes::float8 as bytes, changed::float8 as changed,
    added_bytes::float8 as added_bytes, left_out::float8 as left_out
  from checkpoints where conversation_id = $1 order by number, at, event_seq`;

interface Row {
  checkpoint_id: string;
  number: number;
  rewind_id: string | null;
  event_seq: number;
  earlier_effects: Effects | null;
  turn_id: string;
  step_id: string | null;
  at: Date;
  transcript_seq: number;
  files: number;
  bytes: number;
  changed: number;
  added_bytes: number;
  left_out: number;
}

export function createCheckpoints({ database, announcer }: { database: Database; announcer: Announcer }): Checkpoints {
  const rowsOf = (conversationId: string) => database.query<Row>('checkpoints.list', LIST, [conversationId]);
  return {
    async add(conversationId, made, oldest) {
      const { number, turnId, stepId, rewindId, at, files, bytes, changed, addedBytes, leftOut } = made;
      const checkpointId = checkpointIdOf(made);
      const data: JsonObject = { checkpointId, at, files, bytes, changed, addedBytes, leftOut };
      const event = { type: 'checkpoint.created' as const, turnId, ...(stepId !== undefined && { stepId }), data, key: `checkpoint/${checkpointId}` };
      const values = [conversationId, eventsText([event]), checkpointId, number, JSON.stringify({ ...data, turnId, stepId, rewindId }), oldest];
      const found = await appendingOnce(() => database.query('checkpoints.add', ADD, values));
      if (found.length === 0) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      announcer.announce(conversationId);
      return checkpointId;
    },
    async unchangedSince(conversationId, { number, at }) {
      await database.query('checkpoints.unchangedSince', UNCHANGED, [conversationId, number, at]);
    },
    async effects(conversationId, { eventSeq, earlierEffects }) {
      const since = await effectsBetween(database, conversationId, eventSeq);
      return earlierEffects ? joinEffects(earlierEffects, since) : since;
    },
    async lossSince(conversationId, { transcriptSeq }) {
      return (await database.query<{ text: string }>('checkpoints.loss', LOSS, [conversationId, transcriptSeq]))[0]?.text;
    },
    async rewind(conversationId, { checkpointId }, rewindId, rewound) {
      const event = { type: 'conversation.rewound' as const, data: { ...rewound }, key: `rewind/${rewindId}` };
      const values = [conversationId, eventsText([event]), checkpointId];
      const found = await appendingOnce(() => database.query('checkpoints.rewind', REWIND, values));
      if (found.length === 0) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      announcer.announce(conversationId);
    },
    list: async (conversationId) => (await rowsOf(conversationId)).map(toCheckpoint),
    kept: async (conversationId) =>
      (await rowsOf(conversationId)).map((row) => ({
        ...toCheckpoint(row),
        number: row.number,
        eventSeq: row.event_seq,
        ...(row.earlier_effects && { earlierEffects: row.earlier_effects }),
        ...(row.rewind_id !== null && { rewindId: row.rewind_id }),
      })),
  };
}

/** The number counts within one volume; with the time it is the only one of the conversation. The state before a rewind may be that of an older checkpoint. */
function checkpointIdOf({ number, at, rewindId }: Pick<Made, 'number' | 'at' | 'rewindId'>): string {
  return `cp_${number}_${Date.parse(at).toString(36)}${rewindId === undefined ? '' : `_${rewindId}`}`;
}

function toCheckpoint(row: Row): Checkpoint {
  return {
    checkpointId: row.checkpoint_id,
    turnId: row.turn_id,
    ...(row.step_id !== null && { stepId: row.step_id }),
    at: row.at.toISOString(),
    transcriptSeq: row.transcript_seq,
    files: row.files,
    bytes: row.bytes,
    changed: row.changed,
    addedBytes: row.added_bytes,
    leftOut: row.left_out,
  };
}
