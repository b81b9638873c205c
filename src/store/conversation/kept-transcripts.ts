import { getHeapStatistics } from 'node:v8';
import { frozen } from '../../contracts/json.ts';
import { RecentMap } from '../../common/recent-map.ts';
import type { StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import type { Database } from '../database/database.ts';
import { entriesOf } from '../database/entries-of.ts';

/**
 * One round trip: the entries after `$3`, if all up to there are as they were when the reader had version `$2`; else all entries. The version of a fork is made of its own
 * and of those of the conversations that have its entries. The time of the newest known entry tells a database that was restored from a backup: its versions are those
 * of the backup, and entries that were added since then have the places of others.
 */
const READ = `with place as materialized (
    select concat(own.transcript_version, (
        select md5(string_agg(concat_ws(' ', part.after_seq, part.to_seq, part.holder_id, source.conversation_id, source.transcript_version), ',' order by part.to_seq))
        from transcript_parts part left join conversations source on source.conversation_id = part.source_id where part.conversation_id = $1
      )) as version
    from conversations own where own.conversation_id = $1
  ), known as materialized (
    select version, case when version = $2 and exists (
        select from ${entriesOf('$1', 'seq = $3')} newest where ${momentOf('newest.at')} = $4
      ) then $3::integer else 0 end as seq
    from place
  )
  select known.version, known.seq as after, entries.seq, turn_id, step_id, at, ${momentOf('at')} as moment, entry::text as entry
  from known left join lateral ${entriesOf('$1', 'seq > known.seq and not rewound')} entries on true order by entries.seq`;

/** Exact, as text: a `Date` has milliseconds only. */
function momentOf(time: string): string {
  return `extract(epoch from ${time})::text`;
}

interface Row {
  version: string;
  after: number;
  /** Null in the only row of a transcript with no entries after that. */
  seq: number | null;
  turn_id: string;
  step_id: string | null;
  at: Date;
  moment: string;
  entry: string;
}

type NewRow = Row & { seq: number };

interface Kept {
  version: string;
  entries: readonly StoredEntry[];
  /** Of the newest entry. */
  moment: string;
  size: number;
  usedAtMs: number;
}

/** The part of this process's memory that transcripts may take. */
const SHARE_OF_HEAP = 1 / 16;
/** What an entry takes besides its text, as it was measured, and a transcript besides its entries. */
const BYTES = { entry: 400, transcript: 1_000 };
const NOTHING: Kept = { version: '', entries: [], moment: '', size: BYTES.transcript, usedAtMs: 0 };
/** Removed conversations stay in memory no longer than this after their last step, and a minute. */
const UNUSED_MS = 600_000;
const LOOK_EVERY_MS = 60_000;

/**
 * Makes what reads transcripts as Postgres has them now, and keeps them in the memory of this process.
 * @param mostBytes of all that are kept; those that were not used for the longest time are evicted
 */
export function createKeptTranscripts(
  { database }: { database: Database },
  mostBytes = getHeapStatistics().heap_size_limit * SHARE_OF_HEAP,
): (conversationId: string) => Promise<StoredEntry[]> {
  const transcripts = new RecentMap<string, Kept>(mostBytes, ({ size }) => size);
  let timer: NodeJS.Timeout | undefined;

  function keep(conversationId: string, kept: Kept): void {
    transcripts.set(conversationId, kept);
    timer ??= setInterval(dropUnused, LOOK_EVERY_MS).unref();
  }

  function dropUnused(): void {
    const before = Date.now() - UNUSED_MS;
    transcripts.evictWhile(({ usedAtMs }) => usedAtMs < before);
    if (transcripts.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return async (conversationId) => {
    const known = transcripts.get(conversationId) ?? NOTHING;
    const values = [conversationId, known.version, known.entries.at(-1)?.seq ?? 0, known.moment];
    const rows = await database.query<Row>('transcript.current', READ, values);
    const now = joined(known, rows);
    if (now.entries.length > 0) keep(conversationId, now);
    else transcripts.delete(conversationId);
    return [...now.entries];
  };
}

function joined(known: Kept, rows: Row[]): Kept {
  const [first] = rows;
  const base = first && first.after > 0 ? known : NOTHING;
  const added = rows.filter((row): row is NewRow => row.seq !== null);
  const entries = added.length === 0 ? base.entries : [...base.entries, ...added.map(entryOf)];
  const size = added.reduce((bytes, { entry }) => bytes + Buffer.byteLength(entry) + BYTES.entry, base.size);
  return { version: first?.version ?? '', entries, moment: added.at(-1)?.moment ?? base.moment, size, usedAtMs: Date.now() };
}

/** Callers share it: none can change it for the others. */
function entryOf({ seq, turn_id: turnId, step_id: stepId, at, entry }: NewRow): StoredEntry {
  return frozen({ seq, turnId, ...(stepId !== null && { stepId }), at: at.toISOString(), entry: JSON.parse(entry) as TranscriptEntry });
}
