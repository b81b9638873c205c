import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { GVISOR_SCRIPT } from '../sandbox/engine/docker/gvisor-program.ts';
import { installProgram } from './install-program.ts';

const SOURCE = join(import.meta.dirname, 'longshore-runsc.sh');

/** Puts the script that engines register as `runsc` into `bin` of the home directory. The script starts gVisor's own program from the same directory. */
export async function ensureGvisorScript(home: string): Promise<{ script: string; written: boolean }> {
  const script = join(home, 'bin', GVISOR_SCRIPT);
  const written = (await read(script)) !== (await read(SOURCE));
  if (written) await installProgram(SOURCE, script);
  return { script, written };
}

/** Compares the registered program with the script: `other` is not the script, `old` is another version of it. One that cannot be read counts as `current`. */
export async function judgeGvisorScript(registered: string | undefined): Promise<'current' | 'old' | 'other'> {
  if (registered === undefined || basename(registered) !== GVISOR_SCRIPT) return 'other';
  const there = await read(registered);
  return there === undefined || there === (await read(SOURCE)) ? 'current' : 'old';
}

async function read(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}
