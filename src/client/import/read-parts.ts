import type { Agent } from '../../contracts/agent.ts';
import { ATTACHMENT_LIMITS } from '../../contracts/attachments/media.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { ImportReport } from '../../contracts/imports/import.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import type { ImportPlace } from '../../store/conversation/imports.ts';
import { blobOf } from '../../store/conversation/media.ts';
import type { Store } from '../../store/store.ts';
import { AS_WRITTEN, invalid, type ArchiveEntry, type ArchiveReader } from './archive-reader.ts';
import type { About } from './entry-schema.ts';
import { importEvents, importTranscript, type ReadTranscript, type Referred } from './import-entries.ts';
import { FILES, importFiles, noFilesFor } from './import-files.ts';
import { IMPORT_LIMITS } from './import-limits.ts';
import { readBytes, readText, skip } from './read-lines.ts';

const ATTACHMENTS = 'attachments/';
/** How many files of an archive may be none that an import knows. */
const MOST_OTHERS = 20;

/** One import, while its archive is read. */
export interface ImportWork {
  store: Pick<Store, 'imports' | 'media'>;
  hosts: HostClient;
  /** Aborts when the client is closed. */
  closing: AbortSignal;
  archive: ArchiveReader;
  place: ImportPlace;
  about: About;
  agent: Agent;
  tenantId: string;
  withFiles: boolean;
}

interface Progress {
  report: ImportReport;
  transcript?: ReadTranscript;
  /** Attachments that have not come yet, by blob. */
  missing: Map<string, Referred>;
  unreferred: number;
  /** Pieces of the log of events that are stored. */
  pieces: { count: number };
  skipped: { bytes: number };
  others: string[];
  /** Files that the export had left out. */
  leftBehind: number;
  sandboxId?: string;
}

/** Reads what comes after `conversation.json`, and stores it. */
export async function readParts(work: ImportWork): Promise<Pick<Progress, 'report' | 'sandboxId'>> {
  const { conversationId, exportedAt } = work.about;
  const report: ImportReport = {
    from: { conversationId, exportedAt },
    entries: 0,
    events: 0,
    attachments: 0,
    files: { count: 0, why: 'the archive has none' },
    leftOut: [],
  };
  const progress: Progress = { report, missing: new Map(), unreferred: 0, pieces: { count: 0 }, skipped: { bytes: 0 }, others: [], leftBehind: 0 };
  const seen = new Set(['README.md', 'conversation.json']);
  for (let entry = await work.archive.next(); entry; entry = await work.archive.next()) {
    const name = [FILES, ATTACHMENTS].find((directory) => entry?.name.startsWith(directory)) ?? entry.name;
    if (seen.has(name)) throw invalid(`${JSON.stringify(name)} is in it twice`, AS_WRITTEN);
    if (name !== ATTACHMENTS) seen.add(name);
    await read(work, progress, entry, name);
  }
  if (!progress.transcript) throw invalid('transcript.jsonl is not in it', 'Give a whole file that an export has written');
  tellLeftOut(progress, progress.transcript);
  await noteImport(work, progress, progress.transcript);
  return progress;
}

async function read(work: ImportWork, progress: Progress, entry: ArchiveEntry, name: string): Promise<void> {
  const { store, place, about } = work;
  const { report, skipped, pieces } = progress;
  switch (name) {
    case 'transcript.jsonl':
      progress.transcript = await importTranscript(store.imports, place, entry, about);
      progress.missing = new Map(progress.transcript.attachments);
      report.entries = progress.transcript.count;
      return;
    case 'earlier-events.jsonl':
    case 'events.jsonl':
      report.events += await importEvents(store.imports, place, entry, pieces, name === 'events.jsonl' ? about.events : undefined);
      return;
    case ATTACHMENTS:
      return importAttachment(work, progress, entry);
    case FILES:
      return takeFiles(work, progress, entry);
    case 'files-left-out.json':
      progress.leftBehind = await leftBehindIn(entry);
      return;
    case 'transcript.md':
      return skip(entry, skipped);
    default:
      progress.others.push(name);
      if (progress.others.length > MOST_OTHERS) throw invalid('it has many files that no export writes', AS_WRITTEN);
      return skip(entry, skipped);
  }
}

async function importAttachment({ store, place }: ImportWork, progress: Progress, entry: ArchiveEntry): Promise<void> {
  // A program that packs an archive again adds the directory itself.
  if (entry.isDirectory) return;
  const { transcript, missing, report, skipped } = progress;
  if (!transcript) throw invalid('an attachment comes before transcript.jsonl', AS_WRITTEN);
  const blob = entry.name.slice(ATTACHMENTS.length).replace('-', ':');
  const referred = missing.get(blob);
  if (!referred) {
    progress.unreferred += 1;
    return skip(entry, skipped);
  }
  const data = await readBytes(entry, ATTACHMENT_LIMITS.bytesOfConversation);
  if (blobOf(data) !== blob) throw invalid(`the bytes of ${JSON.stringify(entry.name)} are not those that its name says`, AS_WRITTEN);
  const { mediaType, name, type, of } = referred;
  const kept = await store.media.keep(place.conversationId, { data, mediaType, name }, of);
  if (kept.type !== type)
    throw invalid(`the transcript calls ${JSON.stringify(entry.name)} ${type === 'image' ? 'an image' : 'a file'}, and it is none`, AS_WRITTEN);
  missing.delete(blob);
  report.attachments += 1;
}

/** Those below `files/`, which come one after the other. */
async function takeFiles(work: ImportWork, progress: Progress, first: ArchiveEntry): Promise<void> {
  const { archive, hosts, closing, agent, place, tenantId, withFiles } = work;
  const why = withFiles ? noFilesFor(agent.sandbox) : 'they were not asked for';
  if (why === undefined) {
    archive.putBack(first);
    const to = { hosts, conversationId: place.conversationId, tenantId, agentId: agent.id, sandbox: agent.sandbox, signal: closing };
    const { sandboxId, ...files } = await importFiles(archive, to);
    progress.sandboxId = sandboxId;
    progress.report.files = files;
    return;
  }
  progress.report.files = { count: 0, why };
  await skip(first, progress.skipped);
  for (let entry = await archive.next(); entry; entry = await archive.next()) {
    if (!entry.name.startsWith(FILES)) return archive.putBack(entry);
    await skip(entry, progress.skipped);
  }
}

/** How many files the export had left out. */
async function leftBehindIn(entry: ArchiveEntry): Promise<number> {
  const told = tryParseForeign(await readText(entry, IMPORT_LIMITS.about)) as { leftOut?: unknown } | null | undefined;
  return typeof told?.leftOut === 'number' ? told.leftOut : 0;
}

function tellLeftOut({ report, leftBehind, missing, unreferred, others }: Progress, { declarations }: ReadTranscript): void {
  if (leftBehind > 0) report.leftOut.push(`${leftBehind} files that the export has left out: see files-left-out.json in the archive`);
  if (missing.size > 0) report.leftOut.push(`${missing.size} attachments that the archive does not have`);
  if (unreferred > 0) report.leftOut.push(`${unreferred} attachments that the transcript does not refer to, or has twice`);
  if (declarations > 0) report.leftOut.push(`the client tools that ${declarations} messages declared: declare them again with the next message`);
  if (others.length > 0)
    report.leftOut.push(`files that no export of this version writes: ${others.map((name) => JSON.stringify(name.slice(0, 100))).join(', ')}`);
}

/** What the model has to know, as the last entry of what it had before. */
async function noteImport({ store, place }: ImportWork, { report, sandboxId, leftBehind }: Progress, { last }: ReadTranscript): Promise<void> {
  if (!last) return;
  const without = leftBehind > 0 ? `, without ${leftBehind} of them, such as links` : '';
  const files =
    sandboxId === undefined ? 'The files of the earlier sandbox are not here.' : `Its sandbox has the files that the earlier one had then${without}.`;
  const text = `This conversation was exported at ${report.from.exportedAt}, and goes on from here in another place. ${files} Programs that ran in the earlier sandbox do not run any more; a call without a result may have taken effect there.`;
  const { turnId, seq } = last;
  await store.imports.addEntries(place, [{ seq: seq + 1, turnId, at: new Date().toISOString(), entry: { role: 'note', text } }]);
}
