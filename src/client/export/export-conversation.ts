import type { Readable } from 'node:stream';
import type { ConversationEvent } from '../../contracts/events.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import { targetOfRow } from '../../hosts/client/target-of.ts';
import type { OpenCall } from '../../hosts/client/open-call.ts';
import { ownVersion } from '../../platform/own-version.ts';
import type { ConversationRow, Store } from '../../store/store.ts';
import { createArchive, type ArchiveWriter } from './archive-writer.ts';
import { addFiles, openFiles } from './export-files.ts';
import { entryText, readmeText } from './export-texts.ts';
import { EXPORT_FORMAT, type ExportOptions } from './export-types.ts';
import { jsonLine, measure, textOf, type Pages } from './json-lines.ts';

interface ExportParts {
  store: Pick<Store, 'events' | 'imports' | 'media' | 'sandboxes' | 'transcript'>;
  hosts: HostClient;
  /** Aborts when the client is closed. */
  closing: AbortSignal;
}

/** A page of the transcript is held in memory, and one entry may have images. */
const ENTRIES = 20;

/** The archive of a conversation. What can be refused is refused before its first byte. */
export async function exportConversation(
  { store, hosts, closing }: ExportParts,
  row: ConversationRow,
  { files: withFiles = true }: ExportOptions,
): Promise<Readable> {
  const stop = new AbortController();
  const end = () => stop.abort();
  closing.addEventListener('abort', end, { once: true });
  stop.signal.addEventListener('abort', () => closing.removeEventListener('abort', end), { once: true });
  try {
    const files = withFiles ? await filesOf({ store, hosts }, row, stop.signal) : 'they were not asked for';
    return createArchive((archive) => write(archive, { store, row, files, signal: stop.signal }), stop);
  } catch (error) {
    stop.abort();
    throw error;
  }
}

/** The files, or why there are none. */
async function filesOf(
  { store, hosts }: Pick<ExportParts, 'store' | 'hosts'>,
  { conversationId, tenantId }: ConversationRow,
  signal: AbortSignal,
): Promise<OpenCall | string> {
  const row = await store.sandboxes.ofConversation(conversationId);
  if (!row) return 'the conversation has had no sandbox';
  if (row.state === 'destroyed') return 'the sandbox was removed with its files when the conversation ended';
  return openFiles(hosts, targetOfRow(row, { conversationId, tenantId }), signal);
}

interface Written {
  store: ExportParts['store'];
  row: ConversationRow;
  files: OpenCall | string;
  signal: AbortSignal;
}

async function write(archive: ArchiveWriter, { store, row, files, signal }: Written): Promise<void> {
  const { conversationId } = row;
  const at = new Date(row.createdAt);
  const entries: Pages<StoredEntry> = { read: (after) => store.transcript.readAll(conversationId, after, ENTRIES) };
  const events: Pages<ConversationEvent> = { read: (after) => store.events.read(conversationId, after) };
  const [forPeople, transcript] = await measure(entries, [entryText, jsonLine]);
  const [log] = await measure(events, [jsonLine]);
  if (!forPeople || !transcript || !log) return;
  const why = typeof files === 'string' ? files : undefined;
  await archive.addText('README.md', readmeText(conversationId, why), at);
  const counted = { transcript: countOf(transcript), events: countOf(log), files: why === undefined ? { included: true } : { included: false, why } };
  const about = { ...EXPORT_FORMAT, madeBy: `longshore ${ownVersion()}`, exportedAt: new Date().toISOString(), ...row, ...counted };
  await archive.addText('conversation.json', `${JSON.stringify(about, undefined, 2)}\n`, at);
  const header = (name: string, { size }: { size: number }) => ({ name, size, mode: 0o644, mtime: at });
  await archive.add(header('transcript.md', forPeople), textOf(entries, entryText, forPeople.lastSeq));
  await archive.add(header('transcript.jsonl', transcript), textOf(entries, jsonLine, transcript.lastSeq));
  const earlier = await store.imports.earlierBytes(conversationId);
  if (earlier > 0) await archive.add(header('earlier-events.jsonl', { size: earlier }), store.imports.earlierEvents(conversationId));
  await archive.add(header('events.jsonl', log), textOf(events, jsonLine, log.lastSeq));
  await addMedia(archive, store, conversationId, at);
  if (typeof files !== 'string') await addFiles(archive, files, at, signal);
}

/** Attachments, and what results had, under the names that the transcript refers to; one at a time is held in memory. */
async function addMedia(archive: ArchiveWriter, { media }: Written['store'], conversationId: string, mtime: Date): Promise<void> {
  for (const { blob } of await media.list(conversationId)) {
    const data = await media.read(conversationId, blob);
    if (data) await archive.addBytes(`attachments/${blob.replace(':', '-')}`, data, mtime);
  }
}

function countOf({ rows, lastSeq }: { rows: number; lastSeq: number }) {
  return { count: rows, lastSeq };
}
