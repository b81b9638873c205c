import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { timeIn } from '../../common/tar/tar-times.ts';
import { failure } from '../../contracts/errors.ts';
import { answerIn } from '../../hosts/client/exchanges.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import type { OpenCall } from '../../hosts/client/open-call.ts';
import type { PackedDirectory } from '../../sandbox/api/directory-archives.ts';
import { nothing, type ArchiveWriter } from './archive-writer.ts';

type Failure = PackedDirectory['failures'][number];

const HOME = '/home/user';
const TOLD = 1000;
const MODES = 0o777;

/** Begins to read the home directory of a sandbox. @throws what a visit to the sandbox may be refused with */
export async function openFiles(hosts: HostClient, target: Target, signal: AbortSignal): Promise<OpenCall> {
  const call = await hosts.open(target, { do: 'files.pack', path: HOME }, signal);
  call.sender.end();
  answerIn(await call.messages.next());
  return call;
}

/** Adds the files below `files/`, and after them what of the home directory is not among them. */
export async function addFiles(archive: ArchiveWriter, { messages }: OpenCall, at: Date, signal: AbortSignal): Promise<void> {
  const left: Failure[] = [];
  let count = 0;
  const leaveOut = (path: string, problem: string) => {
    count += 1;
    if (left.length < TOLD) left.push({ path, problem });
  };
  const tar = extract();
  let packed: PackedDirectory | undefined;
  const source = async function* () {
    for await (const message of messages) {
      if (message.kind === 'data') yield message.bytes;
      else packed = message.value as unknown as PackedDirectory;
    }
  };
  const read = pipeline(Readable.from(source()), tar, { signal });
  const copied = copyEntries(archive, tar, leaveOut);
  // When one of them fails, the other one ends.
  copied.catch((error: unknown) => tar.destroy(error as Error));
  await Promise.all([read, copied]);
  if (!packed) throw failure('INTERNAL', { problem: 'a worker ended the files of a sandbox without their end' });
  for (const { path, problem } of packed.failures) leaveOut(path, problem);
  const more = packed.failed - packed.failures.length;
  await archive.addText('files-left-out.json', `${JSON.stringify({ leftOut: count + more, listed: left }, undefined, 2)}\n`, at);
}

async function copyEntries(archive: ArchiveWriter, tar: ReturnType<typeof extract>, leaveOut: (path: string, problem: string) => void): Promise<void> {
  for await (const entry of tar) {
    const { name, type, mode, size } = entry.header;
    const mtime = timeIn(entry.header);
    const problem = problemOf(name, type);
    // The reader gets its error; that of the archive says the same.
    entry.on('error', () => undefined);
    if (problem === undefined) {
      const header = { name: `files/${name.replace(/\/$/, '')}`, mode: mode & MODES, ...(mtime && { mtime }) };
      if (type === 'directory') await archive.add({ ...header, type, size: 0 }, nothing());
      else await archive.add({ ...header, type: 'file', size }, entry as AsyncIterable<Buffer>);
    } else leaveOut(name, problem);
    entry.resume();
  }
}

/** The tar comes from a sandbox. */
function problemOf(name: string, type: string | null | undefined): string | undefined {
  if (type !== 'file' && type !== 'directory') return 'is neither a file nor a directory';
  if (name.startsWith('/') || name.split('/').includes('..')) return 'leads out of the directory';
  return name.includes('\uFFFD') ? 'its name is not UTF-8' : undefined;
}
