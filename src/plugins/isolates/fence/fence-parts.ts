import { BOUNDS } from './limits.ts';
import type { Measured } from './measure.ts';
import { OWN_USER } from './own-user.ts';

/**
 * How far a plugin's process is shut in, as measured from inside. `A`: all of the parts. `B`: nothing of the machine can be reached (network, files, sockets,
 * other processes), but something else of A is missing. `C`: something of the machine can be reached: a plugin that breaks out of its compartment and of Node is the worker's user.
 */
export type FenceLevel = 'A' | 'B' | 'C';

export const NETWORK = 'no network';
export const MODEL = "Node's permission model";

interface Part {
  name: string;
  /** What the probe calls what has to hold for it. */
  held: string[];
  /** Without it, the machine can be reached. */
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

/** What a measured fence is worth. A user that plugins may share is not missing as a part, but no user of its own either. */
export function judge({ open }: Measured, user: string | undefined, groups: boolean): Judged {
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
