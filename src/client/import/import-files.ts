import { posix } from 'node:path';
import { DEFAULT_DISK_MB, type SandboxOptions } from '../../contracts/agent.ts';
import { sandboxIdOf } from '../../contracts/ids.ts';
import type { ImportReport } from '../../contracts/imports/import.ts';
import { upload } from '../../hosts/client/exchanges.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import { createArchive, nothing, type ArchiveWriter } from '../export/archive-writer.ts';
import { invalid, type ArchiveEntry, type ArchiveReader } from './archive-reader.ts';
import { IMPORT_LIMITS } from './import-limits.ts';

export interface FilesTo {
  hosts: HostClient;
  conversationId: string;
  tenantId: string;
  agentId: string;
  sandbox: Pick<SandboxOptions, 'diskMb'>;
  signal: AbortSignal;
}

type Kind = 'file' | 'directory';

export const FILES = 'files/';
const MIB = 1024 * 1024;
const MODES = 0o777;
const LONGEST_NAME = 255;
const OF_ROOT = { uid: 0, gid: 0, mode: 0o755, type: 'directory', size: 0 } as const;
const OF_USER = { uid: 1000, gid: 1000 } as const;
const REPACK = 'Take it out of the archive, or import without files';

/** Why a sandbox of an agent does not get files; undefined when it does. */
export function noFilesFor({ persist, sandboxId }: SandboxOptions): string | undefined {
  if (sandboxId !== undefined) return `the agent works in the sandbox "${sandboxId}"`;
  return persist === false ? 'the agent begins every turn with a new sandbox' : undefined;
}

/** Makes the sandbox of an imported conversation of the entries below `files/`, which come one after the other. Nothing of a name or a right is believed. */
export async function importFiles(archive: ArchiveReader, to: FilesTo): Promise<ImportReport['files'] & { sandboxId: string }> {
  const { hosts, conversationId, tenantId, agentId, signal } = to;
  const sandboxId = sandboxIdOf(conversationId);
  const stop = new AbortController();
  const made = { count: 0, bytes: 0 };
  let failed: { error: unknown } | undefined;
  const tar = createArchive(async (writer) => {
    await repack(archive, writer, made, (to.sandbox.diskMb ?? DEFAULT_DISK_MB) * MIB).catch((error: unknown) => {
      failed = { error };
      throw error;
    });
  }, stop);
  try {
    const target = { sandboxId, tenantId, conversationId, hostId: undefined };
    await upload(hosts, target, { do: 'sandboxes.unpack', agentId }, tar as AsyncIterable<Uint8Array>, signal);
  } catch (error) {
    throw failed ? failed.error : error;
  } finally {
    tar.destroy();
  }
  return { sandboxId, ...made };
}

/** A tar of `/home` as a sandbox has it. */
async function repack(archive: ArchiveReader, writer: ArchiveWriter, made: { count: number; bytes: number }, mostBytes: number): Promise<void> {
  const kinds = new Map<string, Kind>();
  await writer.add({ name: './', ...OF_ROOT }, nothing());
  await writer.add({ name: './.longshore', ...OF_ROOT }, nothing());
  await writer.add({ name: './user', ...OF_ROOT, ...OF_USER }, nothing());
  for (let entry = await archive.next(); entry; entry = await archive.next()) {
    if (!entry.name.startsWith(FILES)) return archive.putBack(entry);
    const name = nameOf(entry);
    if (name === '') continue;
    for (const parent of newDirectories(kinds, name)) await writer.add({ name: `./user/${parent}`, ...OF_ROOT, ...OF_USER }, nothing());
    const kind: Kind = entry.isDirectory ? 'directory' : 'file';
    if ((kinds.get(name) ?? kind) !== kind) throw invalid(`${show(name)} is both a file and a directory`, REPACK);
    kinds.set(name, kind);
    made.count += 1;
    const size = kind === 'file' ? entry.size : 0;
    made.bytes += size;
    checkSizes(kinds.size, made.bytes, mostBytes);
    const header = { name: `./user/${name}`, ...OF_USER, type: kind, size, mode: entry.mode & MODES, ...(entry.mtime && { mtime: entry.mtime }) };
    await writer.add(header, kind === 'file' ? entry.content : nothing());
  }
}

/** Those above a path that are not in the archive yet. */
function newDirectories(kinds: Map<string, Kind>, name: string): string[] {
  const made: string[] = [];
  for (const parent of parentsOf(name)) {
    if (kinds.get(parent) === 'file') throw invalid(`${show(parent)} is a file, and has ${show(name)} below it`, REPACK);
    if (!kinds.has(parent)) made.push(parent);
    kinds.set(parent, 'directory');
  }
  return made;
}

function checkSizes(count: number, bytes: number, mostBytes: number): void {
  if (count > IMPORT_LIMITS.files) throw invalid(`it has more than ${IMPORT_LIMITS.files} files and directories`, 'Import without files');
  if (mostBytes === 0 || bytes <= mostBytes) return;
  throw invalid(
    `its files have more than the ${mostBytes / MIB} MB that a sandbox of the agent may have`,
    'Raise diskMb of the agent, or import without files',
  );
}

/** The path below the home directory. */
function nameOf({ name, isOther }: ArchiveEntry): string {
  const path = name.slice(FILES.length).replace(/\/+$/, '');
  const parts = path.split('/');
  if (isOther) throw invalid(`${show(path)} is neither a file nor a directory`, REPACK);
  if (path === '') return '';
  if (parts.some((part) => part === '' || part === '.' || part === '..')) throw invalid(`${show(path)} is no path of a file`, REPACK);
  const isTooLong = Buffer.byteLength(path) > IMPORT_LIMITS.path || parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME);
  if (isTooLong) throw invalid(`${show(path)} is too long for a path`, REPACK);
  if (path.includes('\0') || path.includes('\uFFFD')) throw invalid(`the name ${show(path)} cannot be used`, REPACK);
  return path;
}

function parentsOf(name: string): string[] {
  const parents: string[] = [];
  for (let parent = posix.dirname(name); parent !== '.'; parent = posix.dirname(parent)) parents.unshift(parent);
  return parents;
}

function show(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
