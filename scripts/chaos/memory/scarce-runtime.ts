import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';

/** A program `runc` for an engine. The kernel refuses memory to it when it is told to. */
export interface ScarceRuntime extends AsyncDisposable {
  /** A directory with nothing but this program. */
  directory: string;
  refuse(): Promise<void>;
  allow(): Promise<void>;
}

/** Less address space than it needs to begin. */
const LIMIT_BYTES = 64 * 2 ** 20;

async function placeOf(program: string): Promise<string | undefined> {
  const { code, stdout } = await runCommand('sh', ['-c', `command -v ${program}`]);
  return code === 0 ? stdout.trim() : undefined;
}

/** Why this machine cannot have one; undefined when it can. */
export async function whyNoScarceRuntime(): Promise<string | undefined> {
  for (const program of ['runc', 'prlimit']) if ((await placeOf(program)) === undefined) return `there is no ${program}`;
  return undefined;
}

export async function openScarceRuntime(): Promise<ScarceRuntime> {
  const runc = (await placeOf('runc')) ?? '';
  const root = await mkdtemp(join(tmpdir(), 'longshore-runtime-'));
  const [program, sign] = [join(root, 'runc'), join(root, 'refuse')];
  await writeFile(program, `#!/bin/sh\n[ -e '${sign}' ] && exec prlimit --as=${LIMIT_BYTES} '${runc}' "$@"\nexec '${runc}' "$@"\n`);
  await chmod(program, 0o755);
  return {
    directory: root,
    refuse: () => writeFile(sign, ''),
    allow: () => rm(sign, { force: true }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
