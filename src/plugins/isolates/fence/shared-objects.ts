import { execFile } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/** The files that a program needs besides itself: its libraries and their loader. Undefined where the loader does not report them. */
export async function sharedObjectsOf(program: string): Promise<string[] | undefined> {
  try {
    // Makes the loader list what it would load, without running the program; `ldd` is a script around that.
    const { stdout } = await run(program, [], { env: { LD_TRACE_LOADED_OBJECTS: '1' }, timeout: TIMEOUT_MS });
    const paths = stdout.split('\n').map((line) => /(?:=> )?(\/.*) \(0x[0-9a-f]+\)$/.exec(line)?.[1]?.trim());
    const found = paths.filter((path) => path !== undefined && isAbsolute(path)) as string[];
    return found.length > 0 ? [...new Set(found)] : undefined;
  } catch {
    return undefined;
  }
}

/** The files of perl's own modules that the launcher uses; undefined where they are not installed. */
export async function modulesOf(perl: string): Promise<string[] | undefined> {
  try {
    const { stdout } = await run(perl, ['-e', 'use strict; use warnings; use Errno; print map { "$_\\n" } values %INC'], { env: {}, timeout: TIMEOUT_MS });
    return stdout.split('\n').filter((path) => path !== '');
  } catch {
    return undefined;
  }
}
