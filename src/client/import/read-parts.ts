import { blobOf } from '../../store/conversation/media.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { ImportReport } from '../../contracts/imports/import.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { ImportPlace } from '../../store/conversation/imports.ts';
import type { Store } from '../../store/store.ts';
import { ATTACHMENT_LIMITS } from '../../contracts/attachments/media.ts';
import { invalid, type ArchiveEntry, type ArchiveReader } from './archive-reader.ts';
import type { About } from './entry-schema.ts';
import { importEvents, importTranscript, type ReadTranscript, type Referred } from './import-entries.ts';
import { FILES, importFiles, noFilesFor } from './import-files.ts';
import { IMPORT_LIMITS } from './import-limits.ts';
import { readBytes, readText, skip } from './read-lines.ts';

const ATTACHMENTS = 'attachments/';
const WHOLE = 'Give a file as an export has written it';
/** Files of an archive that no import knows. */
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
  const progress: Progress = { report, missing: new Map(), unreferred: 0, pieces: { count: 0 }, skipped: { bytes: 0 }, others: [] };
  const seen = new Set(['README.md', 'conversation.json']);
  for (let entry = await work.archive.next(); entry; entry = await work.archive.next()) {
    const name = [FILES, ATTACHMENTS].find((directory) => entry?.name.startsWith(directory)) ?? entry.name;
    if (seen.has(name)) throw invalid(`${JSON.stringify(name)} is in it twice`, WHOLE);
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
      return tellFiles(report, entry);
    case 'transcript.md':
      return skip(entry, skipped);
    default:
      progress.others.push(name);
      if (progress.others.length > MOST_OTHERS) throw invalid('it has many files that no export writes', WHOLE);
      return skip(entry, skipped);
  }
}

async function importAttachment({ store, place }: ImportWork, progress: Progress, entry: ArchiveEntry): Promise<void> {
  const { transcript, missing, report, skipped } = progress;
  if (!transcript) throw invalid('an attachment comes before transcript.jsonl', WHOLE);
  const blob = entry.name.slice(ATTACHMENTS.length).replace('-', ':');
  const referred = missing.get(blob);
  if (!referred) {
    progress.unreferred += 1;
    return skip(entry, skipped);
  }
  const data = await readBytes(entry, ATTACHMENT_LIMITS.bytesOfConversation);
  if (blobOf(data) !== blob) throw invalid(`the bytes of ${JSON.stringify(entry.name)} are not those that its name says`, WHOLE);
  const { mediaType, name, type, of } = referred;
  const kept = await store.media.keep(place.conversationId, { data, mediaType, name }, of);
  if (kept.type !== type) throw invalid(`the transcript calls ${JSON.stringify(entry.name)} an ${type}, and it is none`, WHOLE);
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

/** What the export had left out already. */
async function tellFiles({ leftOut }: ImportReport, entry: ArchiveEntry): Promise<void> {
  const told = tryParseForeign(await readText(entry, IMPORT_LIMITS.about)) as { leftOut?: unknown } | null | undefined;
  if (typeof told?.leftOut === 'number' && told.leftOut > 0)
    leftOut.push(`${told.leftOut} files that the export has left out: see ${entry.name} in the archive`);
}

function tellLeftOut({ report, missing, unreferred, others }: Progress, { declarations }: ReadTranscript): void {
  if (missing.size > 0) report.leftOut.push(`${missing.size} attachments that the archive does not have`);
  if (unreferred > 0) report.leftOut.push(`${unreferred} attachments that the transcript does not refer to, or has twice`);
  if (declarations > 0) report.leftOut.push(`the client tools that ${declarations} messages declared: declare them again with the next message`);
  if (others.length > 0)
    report.leftOut.push(`files that no export of this version writes: ${others.map((name) => JSON.stringify(name.slice(0, 100))).join(', ')}`);
}

/** What the model has to know, as the last entry of what it had before. */
async function noteImport({ store, place }: ImportWork, { report, sandboxId }: Progress, { last }: ReadTranscript): Promise<void> {
  if (!last) return;
  const files =
    sandboxId === undefined ? 'It has a new sandbox without the files of the earlier one.' : 'Its sandbox has the files that the earlier one had then.';
  const text = `This conversation was exported at ${report.from.exportedAt}, and goes on from here in another place. ${files} Programs that ran in the earlier sandbox do not run any more; a call without a result may have taken effect there.`;
  const { turnId, seq } = last;
  await store.imports.addEntries(place, [{ seq: seq + 1, turnId, at: new Date().toISOString(), entry: { role: 'note', text } }]);
}
