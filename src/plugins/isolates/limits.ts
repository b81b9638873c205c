import type { Prefix } from './own-user.ts';

export const BOUNDS = 'limits of memory and files';

const KILOBYTE = 1_024;
/** Node 24 reserves much address space for its code at the start and fails with less. */
const DATA_BYTES = (Number(process.versions.node.split('.')[0]) >= 23 ? 768 : 256) * KILOBYTE * KILOBYTE;
const FILES = 64;
const PROCESSES = 64;

/**
 * Ways to bound what a process may take, the better first.
 * @param isRoot the number of processes is counted per user, so it can only be limited where the user is its own.
 */
export function limits({ prlimit, sh }: { prlimit: string | undefined; sh: string | undefined }, isRoot: boolean): Prefix[] {
  const all = [`--data=${DATA_BYTES}`, '--core=0', `--nofile=${FILES}`, '--fsize=0', ...(isRoot ? [`--nproc=${PROCESSES}`] : [])];
  const byShell = `ulimit -d ${DATA_BYTES / KILOBYTE} && ulimit -c 0 && ulimit -n ${FILES} && ulimit -f 0 && unset PWD OLDPWD SHLVL && exec "$0" "$@"`;
  return [
    ...(prlimit ? [{ gives: BOUNDS, words: [prlimit, ...all, '--'] }] : []),
    // Other systems take these numbers and do not keep to them.
    ...(sh && process.platform === 'linux' ? [{ gives: BOUNDS, words: [sh, '-c', byShell] }] : []),
  ];
}
