import { digestOf } from './layers.ts';

const LONGEST = 80;

/** The id of a tool. Most names are usable as they are. */
export function idOf(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,80}$/.test(name)) return name;
  return `${name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, LONGEST - 17)}_${digestOf(name)}`;
}
