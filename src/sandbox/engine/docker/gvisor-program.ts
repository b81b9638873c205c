import type { GvisorProgram } from '../engine.ts';
import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';

/** Name of the script that the setup registers; it calls gVisor. */
export const GVISOR_SCRIPT = 'longshore-runsc';

const ANSWER_MS = 5000;

/** @param isHere whether the engine runs on this machine */
export async function askGvisorProgram(path: string, isHere: boolean): Promise<GvisorProgram> {
  const version = isHere ? await versionOf(path) : undefined;
  return { path, ...(version !== undefined && { version }), isOurs: basename(path) === GVISOR_SCRIPT };
}

async function versionOf(path: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: ANSWER_MS }).catch(() => ({ stdout: '' }));
  // When gVisor is not built with its own build tool, its version is VERSION_MISSING.
  return /^runsc version (.*\d.*)$/m.exec(stdout)?.[1];
}
