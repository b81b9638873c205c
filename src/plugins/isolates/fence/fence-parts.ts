import { BOUNDS } from './fence-limits.ts';
import type { Measured } from './measure-fence.ts';
import { OWN_USER } from './own-user.ts';

/**
 * How far a plugin's process is isolated, as measured from inside. `A`: all parts hold. `B`: the process can reach nothing of the machine (network, files,
 * sockets, other processes), but another part of A is missing. `C`: the process can reach something of the machine. A plugin that breaks out of its
 * compartment and of Node then acts as a user of the machine, often the worker's own.
 */
export type FenceLevel = 'A' | 'B' | 'C';

export const NETWORK = 'no network';
export const MODEL = "Node's permission model";

interface Part {
  name: string;
  /** The names of the probe's checks that must all hold. */
  held: string[];
  /** Without this part, the process can reach the machine. */
  apart?: true;
}

const PARTS: Part[] = [
  { name: NETWORK, held: ['network'], apart: true },
  { name: 'no files or sockets but its own', held: ['files', 'socket', 'writing'], apart: true },
  { name: 'no other processes', held: ['processes'], apart: true },
  { name: 'a filter of system calls', held: ['system calls'] },
  { name: 'no shared memory', held: ['shared memory'] },
  { name: BOUNDS, held: ['memory', 'children'] },
];

export interface Judged {
  level: FenceLevel;
  has: string[];
  missing: string[];
}

/** Judges a measured fence. A user that plugins may share is listed in `has`, and `OWN_USER` is still listed in `missing`. */
export function judgeFence({ open }: Measured, user: string | undefined, groups: boolean): Judged {
  const held = PARTS.filter((part) => part.held.every((name) => open.get(name) === ''));
  const has = [...held.map(({ name }) => name), ...(user === undefined ? [] : [user]), ...(groups ? ['control groups'] : []), MODEL];
  const lost = PARTS.filter((part) => !held.includes(part));
  const missing = [...lost.map(({ name, held: names }) => describeLoss(name, names, open)), ...(user === OWN_USER ? [] : [OWN_USER])];
  const level = lost.some(({ apart }) => apart) ? 'C' : missing.length > 0 ? 'B' : 'A';
  return { level, has, missing };
}

function describeLoss(name: string, names: string[], open: Measured['open']): string {
  const found = names.flatMap((each) => (open.get(each) === '' ? [] : [open.get(each) ?? 'not measured']));
  return `${name} (${found.join(', ').slice(0, 200)})`;
}
