import { constants } from 'node:fs';
import { open, realpath, statfs } from 'node:fs/promises';

export type ReadFile = { content: Buffer } | { problem: 'refused' } | { problem: 'too large'; size: number };

/** Where the kernel shows processes and devices, environments of processes among them. */
const KERNEL_PLACES = /^\/(?:proc|sys|dev)(?:\/|$)/;
/** The same, wherever it is mounted: proc, sysfs, devpts, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf, configfs, efivarfs, pstore, mqueue. */
const KERNEL_TYPES = new Set([
  0x9fa0, 0x62656572, 0x1cd1, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11, 0x62656570, 0xde5e81e4, 0x6165676c, 0x19800202,
]);

export function isKernelPlace(real: string): boolean {
  return process.platform !== 'win32' && KERNEL_PLACES.test(real);
}

async function isOfKernel(descriptor: number): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const { type } = await statfs(`/proc/self/fd/${descriptor}`);
  return KERNEL_TYPES.has(type);
}

/**
 * Reads a regular file by its real path. What was opened is checked once more, so a link that takes the file's place between the check and the opening
 * leads nowhere. Files that the kernel makes up are refused always.
 * @param isAllowed says whether a real path may be read
 */
export async function readRealFile(real: string, isAllowed: (real: string) => boolean, maxBytes: number): Promise<ReadFile> {
  if (isKernelPlace(real) || !isAllowed(real)) return { problem: 'refused' };
  // Not blocking: opening a pipe would wait for a writer.
  const opened = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
  if (!opened) return { problem: 'refused' };
  await using file = opened;
  const behind = process.platform === 'linux' ? await realpath(`/proc/self/fd/${file.fd}`).catch(() => '') : real;
  const found = await file.stat();
  if (isKernelPlace(behind) || !isAllowed(behind) || !found.isFile() || (await isOfKernel(file.fd))) return { problem: 'refused' };
  if (found.size > maxBytes) return { problem: 'too large', size: found.size };
  // A file may grow while it is read, and files of the kernel claim to have no bytes.
  const content = Buffer.alloc(found.size);
  const { bytesRead } = await file.read(content, 0, found.size, 0);
  return { content: content.subarray(0, bytesRead) };
}
