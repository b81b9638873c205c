import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TestSandboxes } from '../../lifecycle/support.ts';

/** What the engine's storage has given to a sandbox's volume, seen from outside. */
export async function taken(parts: TestSandboxes, sandboxId: string): Promise<{ bytes: number; files: number }> {
  const { Mounts } = await parts.docker.getContainer(parts.containerName(sandboxId)).inspect();
  const { stdout } = await promisify(execFile)('du', ['-s', '--block-size=1', Mounts[0]?.Source ?? '']);
  const { stdout: inodes } = await promisify(execFile)('du', ['-s', '--inodes', Mounts[0]?.Source ?? '']);
  return { bytes: Number.parseInt(stdout), files: Number.parseInt(inodes) };
}
