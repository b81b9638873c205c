import { readlink } from 'node:fs/promises';

/** Words before a command, and what they give the process that it becomes. */
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

/** The most that Linux counts processes to. */
const PROCESS_IDS = 4_194_304;
/** User ids that nobody gives out by convention; systemd keeps a list of them. */
const BESIDE_ALL_ACCOUNTS = 0x7000_0000;
/** Of user ids below 65,536 those that no account has by convention; systemd takes its short-lived ones from there. */
const BELOW_65536 = { first: 61_184, count: 4_336 };
const MACHINES_OWN = 'pid:[4026531836]';
/** What loops does not notice that its worker is gone. */
const NO_MORE = ['--no-new-privs', '--pdeathsig=KILL'];
const POWERS = ['--clear-groups', '--inh-caps=-all', '--bounding-set=-all', ...NO_MORE];

/**
 * Users that no other process has, the better range first; becoming one needs root. The user's id is made of the id of the process, which nobody
 * else has while it lives, whichever worker started it: so there is nothing to take, to wait for, to use up or to give back after a crash. Where only the usual
 * 65,536 users exist, as in a container with a user namespace, two processes of far apart ids can get the same.
 */
export async function userRanges(): Promise<UserRange[]> {
  // Processes of a container have ids of their own in it, but a worker beside it sees them too.
  const inContainer = (await readlink('/proc/self/ns/pid').catch(() => MACHINES_OWN)) !== MACHINES_OWN;
  const first = BESIDE_ALL_ACCOUNTS + (inContainer ? PROCESS_IDS : 0);
  return [
    { gives: OWN_USER, first, count: PROCESS_IDS },
    { gives: SHARED_USER, ...BELOW_65536 },
  ];
}

/** The same for containers, whose process ids tell nothing: one of so many that no two meet by chance, beside those above. */
export const SIBLING_USERS: UserRange[] = [
  { gives: OWN_USER, first: BESIDE_ALL_ACCOUNTS + 2 * PROCESS_IDS, count: 0x0800_0000 },
  { gives: SHARED_USER, ...BELOW_65536 },
];

/** Ways to give a process such a user with the programs that most machines have. */
export async function ownUser(sh: string, setpriv: string): Promise<Prefix[]> {
  // The shell's own variables would be an environment.
  const become = (id: string) => `user=$((${id})); unset PWD OLDPWD SHLVL; exec "$0" --reuid="$user" --regid="$user" ${POWERS.join(' ')} -- "$@"`;
  const ranges = await userRanges();
  return ranges.map(({ gives, first, count }) => ({ gives, words: [sh, '-c', become(`${first} + $$ % ${count}`), setpriv] }));
}

/** What can be taken from a process without root. */
export function sameUser(setpriv: string): Prefix {
  return { gives: 'an end with its worker', words: [setpriv, ...NO_MORE, '--'] };
}
