import type { ConversationStatus } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import type { ForkedFrom, ForkFiles } from '../../contracts/forks/fork.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Announcer } from '../database/announcer.ts';
import type { Database } from '../database/database.ts';
import { eventsText } from '../database/event-sql.ts';
import { toJsonText } from '../database/json-text.ts';
import { effectsBetween, joinEffects, type Effects } from './effects.ts';
import type { HiddenAt, Outline } from './fork-places.ts';
import { ACTIVITY, CREATE_FORK, FILES, HIDDEN_BEFORE, INHERIT_CHECKPOINTS, OUTLINE, PARTS } from './fork-sql.ts';

/** The conversation of a fork, and the events with which its log begins. */
interface NewConversation extends Pick<ConversationStatus, 'conversationId' | 'agentId' | 'userId' | 'tenantId' | 'state'> {
  status: ConversationStatus;
}
type FirstEvent = { type: 'conversation.started'; data: JsonObject };

export interface NewFork extends ForkedFrom {
  hidden: number[];
  resultSeq?: number;
  files: ForkFiles;
  checkpointId?: string;
  /** Whether the source itself shows the place, and not only as it was before a rewind. */
  isShown: boolean;
}
export interface ForkRow extends ForkedFrom {
  files: ForkFiles;
  resultSeq?: number;
  checkpointId?: string;
  /** Where its files are taken from: `live`, `empty`, or a checkpoint. Absent until that is decided. */
  takenFrom?: string;
}
/** A checkpoint with what tells whether its files are those of a place. */
export interface PlacedCheckpoint extends HiddenAt {
  checkpointId: string;
  number: number;
  at: string;
  /** The newest entry for which its files are known to be the same. */
  unchangedTo: number;
}

/** Conversations that are forks of others. */
export interface Forks {
  /** Inserts the conversation with its events and all that it has from its source. False when its id is taken. @throws CONVERSATION_NOT_FOUND, CONVERSATION_REMOVING */
  create(row: NewConversation, fork: NewFork, events: FirstEvent[]): Promise<boolean>;
  get(conversationId: string): Promise<ForkRow | undefined>;
  /** In how many conversations the entries up to a place are. */
  parts(conversationId: string, transcriptSeq: number): Promise<number>;
  /** How many forks of a conversation there are. */
  count(sourceId: string): Promise<number>;
  take(conversationId: string, takenFrom: string): Promise<void>;
  /** The transcript without its content, with entries that were taken back; for finding a place. */
  outline(conversationId: string): Promise<Outline[]>;
  /** What was taken back before each rewind, in order. */
  hiddenBefore(conversationId: string): Promise<HiddenAt[]>;
  checkpoints(conversationId: string): Promise<PlacedCheckpoint[]>;
  /** Whether something is changing the files of a conversation, and a mark that differs when something has begun or ended since. */
  activity(conversationId: string): Promise<{ isChanging: boolean; mark: number }>;
  /** What is known of a conversation's files besides its sandbox. `waits`: it is a fork that has none yet. `had`: there may have been a sandbox. */
  files(conversationId: string): Promise<{ waits: boolean; had: boolean }>;
  /** Adds the checkpoints that the files of a fork contain. Repeated, it has no effect. */
  inheritCheckpoints(conversationId: string): Promise<void>;
}

const GET = 'select source_id, transcript_seq, result_seq, files, checkpoint_id, taken_from from forks where conversation_id = $1';
const CHECKPOINTS = `select checkpoint_id, number, at, transcript_seq, hidden, coalesce(unchanged_to, transcript_seq) as unchanged_to
  from checkpoints where conversation_id = $1 order by number, at, event_seq`;
const PLACED = `select c.checkpoint_id, c.event_seq, c.earlier_effects, f.event_seq as up_to, f.source_id
  from forks f join checkpoints c on c.conversation_id = f.source_id where f.conversation_id = $1`;
/** Between the statement and its repetition, a removal has ended. */
const TRIES = 3;

interface OutlineRow {
  seq: number;
  turn_id: string;
  step_id: string | null;
  role: Outline['role'];
  rewound: boolean;
  call_id: string | null;
  calls: string[] | null;
}

export function createForks({ database, announcer }: { database: Database; announcer: Announcer }): Forks {
  return {
    async create(row, fork, events) {
      const { conversationId, agentId, userId, tenantId, state, status } = row;
      const place = [fork.conversationId, fork.transcriptSeq, fork.resultSeq ?? null, JSON.stringify(fork.hidden)];
      const values = [conversationId, agentId, userId, tenantId, state, toJsonText(status), eventsText(events)];
      for (let tries = 1; ; tries += 1) {
        const all = [...values, ...place, fork.files, fork.checkpointId ?? null, fork.isShown];
        const [made] = await database.query<{ created: boolean; allowed: boolean; known: boolean }>('forks.create', CREATE_FORK, all);
        if (made?.created) announcer.announce(conversationId);
        if (made?.allowed) return made.created;
        if (!made?.known) throw failure('CONVERSATION_NOT_FOUND', { conversationId: fork.conversationId });
        if (tries === TRIES) throw failure('CONVERSATION_REMOVING', { conversationId: fork.conversationId });
      }
    },
    get: (conversationId) => forkOf(database, conversationId),
    async parts(conversationId, transcriptSeq) {
      const [row] = await database.query<{ parts: number }>('forks.parts', PARTS, [conversationId, transcriptSeq]);
      return row?.parts ?? 0;
    },
    async count(sourceId) {
      const [row] = await database.query<{ forks: number }>('forks.count', 'select count(*)::integer as forks from forks where source_id = $1', [sourceId]);
      return row?.forks ?? 0;
    },
    async take(conversationId, takenFrom) {
      await database.query('forks.take', 'update forks set taken_from = $2 where conversation_id = $1', [conversationId, takenFrom]);
    },
    async outline(conversationId) {
      return (await database.query<OutlineRow>('forks.outline', OUTLINE, [conversationId])).map(toOutline);
    },
    async hiddenBefore(conversationId) {
      const rows = await database.query<{ after_seq: number; hidden: number[] }>('forks.hiddenBefore', HIDDEN_BEFORE, [conversationId]);
      return rows.map(({ after_seq: afterSeq, hidden }) => ({ afterSeq, hidden }));
    },
    checkpoints: (conversationId) => placedCheckpoints(database, conversationId),
    async activity(conversationId) {
      const [found] = await database.query<{ calls: boolean; rewinds: boolean; mark: number }>('forks.activity', ACTIVITY, [conversationId]);
      return { isChanging: found === undefined || found.calls || found.rewinds, mark: found?.mark ?? 0 };
    },
    async files(conversationId) {
      const [found] = await database.query<{ waits: boolean; had: boolean }>('forks.files', FILES, [conversationId]);
      return found ?? { waits: false, had: false };
    },
    async inheritCheckpoints(conversationId) {
      const rows = await database.query<PlacedRow>('forks.placed', PLACED, [conversationId]);
      const effects: Record<string, Effects> = {};
      for (const row of rows) {
        const since = await effectsBetween(database, row.source_id, row.event_seq, row.up_to);
        effects[row.checkpoint_id] = row.earlier_effects ? joinEffects(row.earlier_effects, since) : since;
      }
      await database.query('forks.inheritCheckpoints', INHERIT_CHECKPOINTS, [conversationId, JSON.stringify(effects)]);
    },
  };
}

interface PlacedRow {
  checkpoint_id: string;
  event_seq: number;
  earlier_effects: Effects | null;
  up_to: number;
  source_id: string;
}

async function forkOf(database: Database, id: string): Promise<ForkRow | undefined> {
  interface Row {
    source_id: string;
    transcript_seq: number;
    result_seq: number | null;
    files: ForkFiles;
    checkpoint_id: string | null;
    taken_from: string | null;
  }
  const [row] = await database.query<Row>('forks.get', GET, [id]);
  return (
    row && {
      conversationId: row.source_id,
      transcriptSeq: row.transcript_seq,
      files: row.files,
      ...(row.result_seq !== null && { resultSeq: row.result_seq }),
      ...(row.checkpoint_id !== null && { checkpointId: row.checkpoint_id }),
      ...(row.taken_from !== null && { takenFrom: row.taken_from }),
    }
  );
}

async function placedCheckpoints(database: Database, conversationId: string): Promise<PlacedCheckpoint[]> {
  interface Row {
    checkpoint_id: string;
    number: number;
    at: Date;
    transcript_seq: number;
    hidden: number[];
    unchanged_to: number;
  }
  return (await database.query<Row>('forks.checkpoints', CHECKPOINTS, [conversationId])).map((row) => ({
    checkpointId: row.checkpoint_id,
    number: row.number,
    at: row.at.toISOString(),
    afterSeq: row.transcript_seq,
    hidden: row.hidden,
    unchangedTo: row.unchanged_to,
  }));
}

function toOutline({ seq, turn_id: turnId, step_id: stepId, role, rewound, call_id: callId, calls }: OutlineRow): Outline {
  return { seq, turnId, role, rewound, ...(stepId !== null && { stepId }), ...(calls && { calls }), ...(callId !== null && { callId }) };
}
