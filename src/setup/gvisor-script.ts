import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { GVISOR_SCRIPT } from '../sandbox/engine/docker/gvisor-program.ts';
import { installProgram } from './install-program.ts';

const SOURCE = join(import.meta.dirname, 'longshore-runsc.sh');

/** Puts the script that engines know as `runsc` into `bin` of the home directory, where it looks for gVisor's own program beside it. */
export async function ensureGvisorScript(home: string): Promise<{ script: string; written: boolean }> {
  const script = join(home, 'bin', GVISOR_SCRIPT);
  const written = (await read(script)) !== (await read(SOURCE));
  if (written) await installProgram(SOURCE, script);
  return { script, written };
}

/** What an engine has registered: `other` is not such a script, `old` one that differs from ours. One that cannot be seen from here counts as current. */
export async function judgeGvisorScript(registered: string | undefined): Promise<'current' | 'old' | 'other'> {
  if (registered === undefined || basename(registered) !== GVISOR_SCRIPT) return 'other';
  const there = await read(registered);
  return there === undefined || there === (await read(SOURCE)) ? 'current' : 'old';
}

async function read(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}
