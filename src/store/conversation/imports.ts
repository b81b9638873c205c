import { gunzipSync, gzipSync } from 'node:zlib';
import type { ConversationStatus } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import type { ImportedFrom, ImportReport } from '../../contracts/imports/import.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { Announcer } from '../database/announcer.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { eventsText } from '../database/event-sql.ts';
import { toJsonText } from '../database/json-text.ts';
import { ABANDON, ADD_ENTRIES, ADD_EVENTS, BEGIN, COMPLETE, EARLIER_BYTES, EARLIER_EVENTS, GET, GIVE_WAY } from './import-sql.ts';

export interface ImportRow {
  from: ImportedFrom;
  digest: string;
  /** Absent until it is complete. */
  report?: ImportReport;
  tenantId: string;
  userId: string;
}

/** One attempt at an import. */
export interface ImportPlace {
  conversationId: string;
  attempt: string;
}

export interface NewImport extends ImportPlace {
  /** How the conversation will begin. */
  status: ConversationStatus;
  from: ImportedFrom;
  /** SHA-256 of what the archive says about itself. */
  digest: string;
}

/** Conversations that were brought in from an export. Until one is complete, nobody can use it, and what a crash leaves is removed a day later. */
export interface Imports {
  /** False when the id is taken. An attempt with the same digest that has not completed gives way. */
  begin(row: NewImport): Promise<boolean>;
  /** The rest throws IMPORT_REPLACED when the attempt has given way, or was removed. */
  addEntries(place: ImportPlace, entries: StoredEntry[]): Promise<void>;
  /** A piece of the log of events from there: whole lines. */
  addEvents(place: ImportPlace, number: number, lines: Buffer): Promise<void>;
  /** From now on it is a conversation like others. `sandboxId`: has its files, and is not another's. */
  complete(place: ImportPlace, end: { status: ConversationStatus; report: ImportReport; sandboxId?: string }): Promise<void>;
  /** Removes what the attempt has added. */
  abandon(place: ImportPlace): Promise<void>;
  get(conversationId: string): Promise<ImportRow | undefined>;
  /** Bytes of the earlier log of events. */
  earlierBytes(conversationId: string): Promise<number>;
  /** The lines of that log, in pieces. */
  earlierEvents(conversationId: string): AsyncGenerator<Buffer>;
}

interface Row {
  source_id: string;
  exported_at: Date;
  digest: string;
  report: ImportReport | null;
  tenant_id: string;
  user_id: string;
}

export function createImports({ database, announcer }: { database: Database; announcer: Announcer }): Imports {
  /** @throws IMPORT_REPLACED when no row was found */
  const add = async <Found>({ conversationId, attempt }: ImportPlace, name: string, sql: string, values: SqlValue[]): Promise<Found> => {
    const [found] = await database.query<Found>(name, sql, [conversationId, attempt, ...values]);
    if (found === undefined) throw failure('IMPORT_REPLACED', { conversationId });
    return found;
  };
  return {
    async begin({ conversationId, attempt, status, from, digest }) {
      const { agentId, userId, tenantId } = status;
      await database.query('imports.giveWay', GIVE_WAY, [conversationId, digest, tenantId]);
      const values = [
        conversationId,
        agentId,
        userId,
        tenantId,
        toJsonText({ ...status, state: 'closed' }),
        from.conversationId,
        from.exportedAt,
        digest,
        attempt,
      ];
      return (await database.query('imports.begin', BEGIN, values)).length > 0;
    },
    async addEntries(place, entries) {
      const last = entries.at(-1)?.seq;
      if (last !== undefined) await add(place, 'imports.addEntries', ADD_ENTRIES, [toJsonText(entries), last]);
    },
    async addEvents(place, number, lines) {
      await add(place, 'imports.addEvents', ADD_EVENTS, [number, lines.length, gzipSync(lines)]);
    },
    async complete(place, { status, report, sandboxId }) {
      const { agentId, userId, tenantId, importedFrom } = status;
      const started = { type: 'conversation.started', data: { agentId, userId, tenantId, importedFrom } };
      const values = [status.state, toJsonText(status), eventsText([started]), sandboxId ?? null, toJsonText(report)];
      await add(place, 'imports.complete', COMPLETE, values);
      announcer.announce(place.conversationId);
    },
    async abandon({ conversationId, attempt }) {
      await database.query('imports.abandon', ABANDON, [conversationId, attempt]);
    },
    async get(conversationId) {
      const [row] = await database.query<Row>('imports.get', GET, [conversationId]);
      return row && toImport(row);
    },
    async earlierBytes(conversationId) {
      return (await database.query<{ bytes: number }>('imports.earlierBytes', EARLIER_BYTES, [conversationId]))[0]?.bytes ?? 0;
    },
    async *earlierEvents(conversationId) {
      for (let number = 1; ; number += 1) {
        const [piece] = await database.query<{ lines: Buffer }>('imports.earlierEvents', EARLIER_EVENTS, [conversationId, number]);
        if (!piece) return;
        yield gunzipSync(piece.lines);
      }
    },
  };
}

function toImport({ source_id, exported_at, digest, report, tenant_id, user_id }: Row): ImportRow {
  const from = { conversationId: source_id, exportedAt: exported_at.toISOString() };
  return { from, digest, ...(report && { report }), tenantId: tenant_id, userId: user_id };
}
