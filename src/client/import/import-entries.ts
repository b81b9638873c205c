import { isStoredMedia, type StoredMedia } from '../../contracts/attachments/media.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { ImportPlace, Imports } from '../../store/conversation/imports.ts';
import { AS_WRITTEN, invalid, type ArchiveEntry } from './archive-reader.ts';
import { ENTRY, problemIn, type About } from './entry-schema.ts';
import { IMPORT_LIMITS } from './import-limits.ts';
import { readLines, type Line } from './read-lines.ts';

/** Bytes of what is stored at once. */
const BATCH = 4 * 1024 * 1024;
const NEWLINE = Buffer.from('\n');

/** An attachment that an entry refers to. */
export type Referred = StoredMedia & { of: 'message' | 'result' };

export interface ReadTranscript {
  count: number;
  last: StoredEntry | undefined;
  /** By blob. */
  attachments: Map<string, Referred>;
  /** Messages that declared tools of clients. */
  declarations: number;
}

/** Stores the entries of `transcript.jsonl`, each as it is, but without the tools that clients had declared: a client that continues the conversation declares its own. */
export async function importTranscript(imports: Imports, place: ImportPlace, file: ArchiveEntry, about: About): Promise<ReadTranscript> {
  const read: ReadTranscript = { count: 0, last: undefined, attachments: new Map(), declarations: 0 };
  let [batch, bytes]: [StoredEntry[], number] = [[], 0];
  for await (const line of readLines(file, { ofLine: IMPORT_LIMITS.entry, ofFile: IMPORT_LIMITS.transcript })) {
    const stored = entryOf(line, file.name);
    if (stored.seq <= (read.last?.seq ?? 0)) throw invalid(`line ${line.number} of ${file.name} has the number ${stored.seq} again or too late`, AS_WRITTEN);
    if (stored.entry.role === 'user' && stored.entry.clientTools) {
      delete stored.entry.clientTools;
      read.declarations += 1;
    }
    noteAttachments(read.attachments, stored);
    [read.count, read.last] = [read.count + 1, stored];
    batch.push(stored);
    bytes += line.text.length;
    if (bytes < BATCH) continue;
    await imports.addEntries(place, batch);
    [batch, bytes] = [[], 0];
  }
  await imports.addEntries(place, batch);
  checkCount(file.name, { count: read.count, lastSeq: read.last?.seq ?? 0 }, about.transcript);
  return read;
}

/** Stores the lines of a log of events. They are only kept: no reader of events trusts what an archive says. */
export async function importEvents(
  imports: Imports,
  place: ImportPlace,
  file: ArchiveEntry,
  pieces: { count: number },
  expected?: About['events'],
): Promise<number> {
  let [count, lastSeq] = [0, 0];
  let [batch, bytes]: [Buffer[], number] = [[], 0];
  const store = async () => {
    if (bytes === 0) return;
    pieces.count += 1;
    await imports.addEvents(place, pieces.count, Buffer.concat(batch));
    [batch, bytes] = [[], 0];
  };
  for await (const { number, text, value } of readLines(file, { ofLine: IMPORT_LIMITS.event, ofFile: IMPORT_LIMITS.events })) {
    const { seq, type } = (value ?? {}) as { seq?: unknown; type?: unknown };
    if (!Number.isSafeInteger(seq) || typeof type !== 'string') throw invalid(`line ${number} of ${file.name} is no event`, AS_WRITTEN);
    [count, lastSeq] = [count + 1, seq as number];
    const line = Buffer.from(text);
    batch.push(line, NEWLINE);
    bytes += line.length + NEWLINE.length;
    if (bytes >= BATCH) await store();
  }
  await store();
  if (expected) checkCount(file.name, { count, lastSeq }, expected);
  return count;
}

function entryOf({ number, value }: Line, name: string): StoredEntry {
  const parsed = ENTRY.safeParse(value);
  if (parsed.success) return parsed.data as StoredEntry;
  throw invalid(`line ${number} of ${name} is no entry of a transcript (${problemIn(parsed.error)})`, AS_WRITTEN);
}

function noteAttachments(attachments: Map<string, Referred>, { entry }: StoredEntry): void {
  if (entry.role !== 'user' && entry.role !== 'tool') return;
  const of = entry.role === 'user' ? 'message' : 'result';
  for (const part of entry.content) {
    if (part.type === 'text' || !isStoredMedia(part)) continue;
    if (of === 'message' || !attachments.has(part.blob)) attachments.set(part.blob, { ...part, of });
  }
}

function checkCount(name: string, found: { count: number; lastSeq: number }, expected: { count: number; lastSeq: number }): void {
  if (found.count === expected.count && found.lastSeq === expected.lastSeq) return;
  throw invalid(
    `${name} has ${found.count} lines up to number ${found.lastSeq}, and conversation.json says ${expected.count} up to ${expected.lastSeq}`,
    AS_WRITTEN,
  );
}
