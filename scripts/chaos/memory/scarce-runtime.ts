import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';

/** A program `runc` for an engine. The kernel refuses memory to it when it is told to. */
export interface ScarceRuntime extends AsyncDisposable {
  /** A directory with nothing but this program. */
  directory: string;
  refuse(): Promise<void>;
  allow(): Promise<void>;
  /** Containers that it could not make. */
  refused(): Promise<number>;
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
  const [program, sign, note] = [join(root, 'runc'), join(root, 'refuse'), join(root, 'refused')];
  const lines = [
    '#!/bin/sh',
    `[ -e '${sign}' ] || exec '${runc}' "$@"`,
    `case " $* " in *' create '*) echo >> '${note}' ;; esac`,
    `exec prlimit --as=${LIMIT_BYTES} '${runc}' "$@"`,
  ];
  await writeFile(program, `${lines.join('\n')}\n`);
  await chmod(program, 0o755);
  return {
    directory: root,
    refuse: () => writeFile(sign, ''),
    allow: () => rm(sign, { force: true }),
    refused: async () => (await readFile(note, 'utf8').catch(() => '')).length,
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
