import { execFile } from 'node:child_process';
import { NETWORK } from './fence-parts.ts';
import { limits } from './fence-limits.ts';
import { ownUser, sameUser, type Prefix } from './own-user.ts';

const PROBE_TIMEOUT_MS = 5_000;

/** Programs of util-linux and a shell; undefined where they are not installed. */
export type Programs = Record<'unshare' | 'prlimit' | 'sh' | 'setpriv', string | undefined>;

/** What is possible without namespaces of files and processes. It keeps trusted plugins from doing harm by mistake. In the order in which the parts run. */
export async function weakParts({ unshare, prlimit, sh, setpriv }: Programs, isRoot: boolean): Promise<Prefix[]> {
  /** Of each part the better candidates first. */
  const parts: Prefix[][] = [
    unshare ? [{ gives: NETWORK, words: [unshare, ...(isRoot ? [] : ['--user']), '--net', '--ipc', '--'] }] : [],
    limits({ prlimit, sh }, isRoot),
    setpriv ? [...(isRoot && sh ? await ownUser(sh, setpriv) : []), sameUser(setpriv)] : [],
  ];
  return (await Promise.all(parts.map(firstWorking))).filter((prefix) => prefix !== undefined);
}

async function firstWorking(candidates: Prefix[]): Promise<Prefix | undefined> {
  for (const candidate of candidates) {
    const [program = '', ...args] = candidate.words;
    if (await succeeds(program, [...args, '/bin/true'])) return candidate;
  }
  return undefined;
}

function succeeds(program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_TIMEOUT_MS, env: {} }, (error) => resolve(error === null));
  });
}
