import { constants } from 'node:fs';
import { open, realpath, statfs } from 'node:fs/promises';

export type ReadFile = { content: Buffer } | { problem: 'refused' } | { problem: 'too large'; size: number };

/** Where the kernel shows processes, with their environments, and devices. */
const KERNEL_PLACES = /^\/(?:proc|sys|dev)(?:\/|$)/;
/** Kernel file systems at any mount point: proc, sysfs, devpts, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf, configfs, efivarfs, pstore, mqueue. */
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
 * Reads a regular file by its real path. The opened file is checked again, so replacing the file by a link between the check and the opening
 * has no effect. Files of kernel file systems are always refused.
 * @param isAllowed says whether a real path may be read
 */
export async function readRealFile(real: string, isAllowed: (real: string) => boolean, maxBytes: number): Promise<ReadFile> {
  if (isKernelPlace(real) || !isAllowed(real)) return { problem: 'refused' };
  // O_NONBLOCK: otherwise, opening a pipe would wait for a writer.
  const opened = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
  if (!opened) return { problem: 'refused' };
  await using file = opened;
  const behind = process.platform === 'linux' ? await realpath(`/proc/self/fd/${file.fd}`).catch(() => '') : real;
  const found = await file.stat();
  if (isKernelPlace(behind) || !isAllowed(behind) || !found.isFile() || (await isOfKernel(file.fd))) return { problem: 'refused' };
  if (found.size > maxBytes) return { problem: 'too large', size: found.size };
  // Reads at most the checked size: a file may grow while it is read, and kernel files report a size of 0.
  const content = Buffer.alloc(found.size);
  const { bytesRead } = await file.read(content, 0, found.size, 0);
  return { content: content.subarray(0, bytesRead) };
}
