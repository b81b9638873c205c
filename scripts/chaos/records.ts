import { pino } from 'pino';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { StoredEntry } from '../../src/contracts/transcript.ts';
import { openDatabase, type SqlValue } from '../../src/store/database/database.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { LedgerCall } from './check-conversation.ts';
import { insist } from './insist.ts';

/** What is read of a conversation is read again while the database itself is away, for so long. */
const LIMIT_MS = 90_000;

/** Reads the database past all faults on the way to it. */
export interface Records extends AsyncDisposable {
  store: Store;
  query<Row>(sql: string, values?: SqlValue[]): Promise<Row[]>;
  of(conversationId: string): Promise<{ entries: StoredEntry[]; events: ConversationEvent[]; calls: LedgerCall[] }>;
  /** Conversations below one, at any depth. */
  below(conversationId: string): Promise<{ id: string; agent: string; state: string }[]>;
}

const CALLS = `select call_id as "callId", tool, state from tool_calls where conversation_id = $1 order by requested_at`;
const BELOW = `select conversation_id as id, agent_id as agent, state from conversations where status::jsonb -> 'parent' -> 'path' ? $1 order by created_at`;

export async function openRecords(url: string): Promise<Records> {
  const log = pino({ level: 'silent' });
  const store = await openStore({ url, log, poolSize: 2 });
  const database = openDatabase({ url, log, poolSize: 2 });
  let statements = 0;
  const query = <Row>(sql: string, values: SqlValue[] = []) => {
    statements += 1;
    return database.query<Row>(`chaos.${statements}`, sql, values);
  };
  return {
    store,
    query,
    of: (conversationId) =>
      insist(AbortSignal.timeout(LIMIT_MS), async () => {
        const events: ConversationEvent[] = [];
        for (let page; (page = await store.events.read(conversationId, events.at(-1)?.seq ?? 0)).length > 0;) events.push(...page);
        const [entries, calls] = [await store.transcript.readAll(conversationId), await query<LedgerCall>(CALLS, [conversationId])];
        return { entries, events, calls };
      }),
    below: (conversationId) => insist(AbortSignal.timeout(LIMIT_MS), () => query(BELOW, [conversationId])),
    async [Symbol.asyncDispose]() {
      await database.close();
      await store[Symbol.asyncDispose]();
    },
  };
}
