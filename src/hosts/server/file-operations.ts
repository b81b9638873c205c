import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { CallName } from '../channel/calls.ts';
import { dataOf } from '../channel/messages.ts';
import type { Operation } from './wire.ts';

type FileCalls = Extract<CallName, `files.${string}`>;

/** Bytes of a file that said that it is empty. */
const MOST_UNMEASURED = 2 * 1024 * 1024;

export const FILE_OPERATIONS: { [Name in FileCalls]: Operation<Name> } = {
  async 'files.read'(handle, { path, offset = 0, maxBytes }, { sender }) {
    const info = await infoOf(handle, path);
    const most = Math.min(maxBytes ?? Infinity, Number.MAX_SAFE_INTEGER - offset);
    if (info.type === 'file' && info.size === 0) {
      // Files of the kernel, such as /proc/meminfo, say that they are empty. An empty file is read too, since it may be one that cannot be read.
      const content = await handle.readFile(path, { maxBytes: MOST_UNMEASURED + 1 });
      if (content.length > MOST_UNMEASURED) throw failure('FILE_CHANGED', { path, problem: 'it was empty, and then had much in it' });
      await sender.json({ ...info, size: content.length });
      const wanted = content.subarray(offset, offset + most);
      if (wanted.length > 0) await sender.data(wanted);
      return;
    }
    await sender.json(info);
    // Only a file says its size: a link leads to another one, and what is no file is refused when it is read.
    const bounded = info.type === 'file' ? Math.min(most, Math.max(0, info.size - offset)) : most;
    for await (const piece of handle.readFileStream(path, { offset, maxBytes: bounded })) await sender.data(piece);
  },
  async 'files.write'(handle, { path, mode }, { sender, incoming }) {
    await handle.writeFile(path, dataOf(incoming), withoutUndefined({ mode }));
    await sender.json(await infoOf(handle, path));
  },
  async 'files.info'(handle, { path }, { sender }) {
    await sender.json(await infoOf(handle, path));
  },
  async 'files.list'(handle, { path, recursive, pattern, maxEntries }, { sender }) {
    await sender.json(await handle.listFiles(path, withoutUndefined({ recursive, pattern, maxEntries })));
  },
  async 'files.remove'(handle, { path, recursive }, { sender }) {
    await handle.removeFile(path, withoutUndefined({ recursive }));
    await sender.json(null);
  },
  async 'files.pack'(handle, { path }, { sender }) {
    await infoOf(handle, path);
    await sender.json(null);
    await sender.json(await handle.packDirectory(path, (piece) => sender.data(piece)));
  },
  async 'files.createDirectory'(handle, { path }, { sender }) {
    await handle.createDirectory(path);
    await sender.json(await infoOf(handle, path));
  },
  async 'files.rename'(handle, { path, to }, { sender }) {
    await handle.rename(path, to);
    await sender.json(await infoOf(handle, to));
  },
};

async function infoOf(handle: Pick<WorkerHandle, 'fileInfo'>, path: string): Promise<FileInfo> {
  const info = await handle.fileInfo(path);
  if (!info) throw failure('FILE_NOT_FOUND', { path });
  return info;
}
