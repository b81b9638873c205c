import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../src/platform/run-command.ts';

/** Whether pip of this machine finds a package, such as the SDK of MaiBot, which is not part of this project. Tests that need it are skipped otherwise. */
export async function canInstall(name: string): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-pip-'));
  try {
    const options = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--retries', '0', '--timeout', '15', '--dest', directory];
    return (await runCommand('python3', [...options, name], { timeoutMs: 60_000 })).code === 0;
  } finally {
    await rm(directory, { recursive: true });
  }
}
