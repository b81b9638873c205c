import { createHash, randomUUID } from 'node:crypto';
import type { Agent } from '../../contracts/agent.ts';
import type { ConversationStatus } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import { makeId } from '../../contracts/ids.ts';
import type { ArchiveSource, ImportedFrom, ImportOptions, ImportReport } from '../../contracts/imports/import.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import type { Store } from '../../store/store.ts';
import { EXPORT_FORMAT } from '../export/export-types.ts';
import { invalid, readArchive, type ArchiveReader } from './archive-reader.ts';
import { ABOUT, problemIn, type About } from './entry-schema.ts';
import { IMPORT_LIMITS } from './import-limits.ts';
import { parse, readText, skip } from './read-lines.ts';
import { readParts } from './read-parts.ts';

/** What the conversation starts with. */
export interface ImportedStart {
  agent: string;
  user: string;
  conversationId: string;
  tenant?: string;
}

export interface ImportParts {
  store: Pick<Store, 'imports' | 'media'>;
  hosts: HostClient;
  /** Aborts when the client is closed. */
  closing: AbortSignal;
  /** @throws AGENT_NOT_FOUND */
  agent: (id: string) => Promise<Agent>;
  /** How the conversation will begin. */
  statusOf: (agent: Agent, start: ImportedStart) => ConversationStatus;
  /** Starts its workflow, after `complete` has made its row one that is used. False: it was one before. */
  start: (start: ImportedStart & { imported: { from: ImportedFrom; complete: () => Promise<boolean> } }) => Promise<unknown>;
}

const GIVE = 'Give a file that an export has written';
const ORDER = 'README.md, conversation.json, transcript.md, transcript.jsonl, events.jsonl, attachments/, files/';

/**
 * Makes a conversation of an archive, of which nothing is trusted. Others can use the conversation when all of the archive has been read; an archive that is refused leaves nothing.
 * @throws IMPORT_INVALID, CONVERSATION_EXISTS, AGENT_NOT_FOUND, HOST_AWAY when the archive has files and no worker is there to take them
 */
export async function importConversation(
  parts: ImportParts,
  source: ArchiveSource,
  options: ImportOptions,
): Promise<{ conversationId: string; report: ImportReport }> {
  await using archive = readArchive(source, parts.closing);
  const { about, digest } = await readAbout(archive);
  const agent = await parts.agent(options.agent ?? about.agentId);
  const conversationId = options.conversationId ?? makeId('conv', Date.now(), Math.random);
  const { user = about.userId, tenant, files: withFiles = true } = options;
  const from = { conversationId: about.conversationId, exportedAt: about.exportedAt };
  const start = { agent: agent.id, user, conversationId, ...(tenant !== undefined && { tenant }) };
  const status = { ...parts.statusOf(agent, start), importedFrom: from };
  const place = { conversationId, attempt: randomUUID() };
  if (!(await parts.store.imports.begin({ ...place, status, from, digest }))) return repeated(parts, start, { digest, tenantId: status.tenantId });
  try {
    const { closing, hosts, store } = parts;
    const work = { closing, hosts, store, archive, place, about, agent, tenantId: status.tenantId, withFiles };
    const { report, sandboxId } = await readParts(work);
    const complete = async () => {
      await store.imports.complete(place, { status, report, ...(sandboxId !== undefined && { sandboxId }) });
      return true;
    };
    await parts.start({ ...start, imported: { from, complete } });
    return { conversationId, report };
  } catch (error) {
    // Without effect on one that is complete. What is left otherwise is removed a day later.
    await parts.store.imports.abandon(place).catch(() => undefined);
    throw error;
  }
}

/** The same archive has been imported with this id: its workflow is started, if that was never done. */
async function repeated(
  parts: ImportParts,
  start: ImportedStart,
  { digest, tenantId }: { digest: string; tenantId: string },
): Promise<{ conversationId: string; report: ImportReport }> {
  const { conversationId, user } = start;
  const known = await parts.store.imports.get(conversationId);
  const isSame = known?.digest === digest && known.tenantId === tenantId && known.userId === user;
  if (!isSame || !known.report) throw failure('CONVERSATION_EXISTS', { conversationId });
  await parts.start({ ...start, imported: { from: known.from, complete: async () => false } });
  return { conversationId, report: known.report };
}

/** What comes first in an archive, and its digest. */
async function readAbout(archive: ArchiveReader): Promise<{ about: About; digest: string }> {
  let entry = await archive.next();
  if (entry?.name === 'README.md') {
    await skip(entry);
    entry = await archive.next();
  }
  if (entry?.name !== 'conversation.json') {
    throw invalid('conversation.json is not at its beginning', `${GIVE}; one that was packed again has them in the order ${ORDER}`);
  }
  const text = await readText(entry, IMPORT_LIMITS.about);
  return { about: aboutIn(parse(text, entry.name)), digest: createHash('sha256').update(text).digest('hex') };
}

function aboutIn(value: unknown): About {
  const { format, version, madeBy } = (value ?? {}) as { format?: unknown; version?: unknown; madeBy?: unknown };
  if (format === EXPORT_FORMAT.format && version !== EXPORT_FORMAT.version) {
    const by = typeof madeBy === 'string' ? madeBy.slice(0, 100) : 'another version';
    const shown = String(version).slice(0, 20);
    throw invalid(`it has the version ${shown} of its format, and only ${EXPORT_FORMAT.version} is known here`, `Import it with ${by} or a newer one`);
  }
  const parsed = ABOUT.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(`conversation.json is not that of an export (${problemIn(parsed.error)})`, GIVE);
}
