import type { Prefix } from './own-user.ts';

export const BOUNDS = 'limits of memory and files';

const KILOBYTE = 1_024;
/** Node 24 reserves much address space for its code at the start and fails with less. */
const DATA_BYTES = (Number(process.versions.node.split('.')[0]) >= 23 ? 768 : 256) * KILOBYTE * KILOBYTE;
const FILES = 64;
/** Threads count as processes. */
export const PROCESSES = 64;
/** Limit on all memory of a process. With Node 22 and older it is above the limit on data, which gives clearer errors. */
export const MEMORY_BYTES = 320 * KILOBYTE * KILOBYTE;
/** Linux's numbers of the limits on: size of data, of files and of core dumps, processes, open files, bytes of message queues. */
const [DATA, FSIZE, CORE, NPROC, NOFILE, MSGQUEUE] = [2, 1, 4, 6, 7, 12];

/**
 * Ways to limit what a process may use, the better first.
 * @param isRoot the number of processes is counted per user, so it is limited only where the process has a user of its own.
 */
export function limits({ prlimit, sh }: { prlimit: string | undefined; sh: string | undefined }, isRoot: boolean): Prefix[] {
  const all = [`--data=${DATA_BYTES}`, '--core=0', `--nofile=${FILES}`, '--fsize=0', ...(isRoot ? [`--nproc=${PROCESSES}`] : [])];
  const byShell = `ulimit -d ${DATA_BYTES / KILOBYTE} && ulimit -c 0 && ulimit -n ${FILES} && ulimit -f 0 && unset PWD OLDPWD SHLVL && exec "$0" "$@"`;
  return [
    ...(prlimit ? [{ gives: BOUNDS, words: [prlimit, ...all, '--'] }] : []),
    // Other systems accept these numbers and do not enforce them.
    ...(sh && process.platform === 'linux' ? [{ gives: BOUNDS, words: [sh, '-c', byShell] }] : []),
  ];
}

/** The same limits as options of the launcher. */
export function limitNumbers(): string[] {
  return [`${DATA}=${DATA_BYTES}`, `${FSIZE}=0`, `${CORE}=0`, `${NPROC}=${PROCESSES}`, `${NOFILE}=${FILES}`, `${MSGQUEUE}=0`];
}
