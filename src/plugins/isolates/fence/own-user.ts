import { readlink } from 'node:fs/promises';

/** Words before a command, and what they give to its process. */
export interface Prefix {
  gives: string;
  words: string[];
}

/** User ids for processes: `first` plus the process id modulo `count`. */
export interface UserRange {
  gives: string;
  first: number;
  count: number;
}

export const OWN_USER = 'a user of its own';
export const SHARED_USER = 'a user that it may share with another plugin';

/** The most process ids that Linux can use. */
const PROCESS_IDS = 4_194_304;
/** User ids that are not assigned by convention; systemd keeps a list of them. */
const BESIDE_ALL_ACCOUNTS = 0x7000_0000;
/** User ids below 65,536 that no account has by convention; systemd takes its dynamic users from there. */
const BELOW_65536 = { first: 61_184, count: 4_336 };
const MACHINES_OWN = 'pid:[4026531836]';
/** Code in an endless loop does not notice that its worker has ended. */
const NO_MORE = ['--no-new-privs', '--pdeathsig=KILL'];
const POWERS = ['--clear-groups', '--inh-caps=-all', '--bounding-set=-all', ...NO_MORE];

/**
 * Ranges of users that no other process has, the better first. To become such a user needs root. The user id is derived from the id of the process. No other
 * process has that id while the process lives, whichever worker started it, so nothing has to be allocated, waited for or released after a crash. Where only
 * the usual 65,536 users exist, as in a container with a user namespace, two processes whose ids are far apart can get the same user.
 */
export async function userRanges(): Promise<UserRange[]> {
  // Process ids in a container also occur outside it, so a worker in a container uses another range.
  const inContainer = (await readlink('/proc/self/ns/pid').catch(() => MACHINES_OWN)) !== MACHINES_OWN;
  const first = BESIDE_ALL_ACCOUNTS + (inContainer ? PROCESS_IDS : 0);
  return [
    { gives: OWN_USER, first, count: PROCESS_IDS },
    { gives: SHARED_USER, ...BELOW_65536 },
  ];
}

/** The same for containers, where process ids cannot distinguish users: the id is random. The first range is so large that two hardly ever get the same. */
export const SIBLING_USERS: UserRange[] = [
  { gives: OWN_USER, first: BESIDE_ALL_ACCOUNTS + 2 * PROCESS_IDS, count: 0x0800_0000 },
  { gives: SHARED_USER, ...BELOW_65536 },
];

/** Ways to give a process such a user with programs that most machines have. */
export async function ownUser(sh: string, setpriv: string): Promise<Prefix[]> {
  // The shell's own variables would become an environment of the program.
  const become = (id: string) => `user=$((${id})); unset PWD OLDPWD SHLVL; exec "$0" --reuid="$user" --regid="$user" ${POWERS.join(' ')} -- "$@"`;
  const ranges = await userRanges();
  return ranges.map(({ gives, first, count }) => ({ gives, words: [sh, '-c', become(`${first} + $$ % ${count}`), setpriv] }));
}

/** Restrictions of a process that need no root. */
export function sameUser(setpriv: string): Prefix {
  return { gives: 'an end with its worker', words: [setpriv, ...NO_MORE, '--'] };
}
