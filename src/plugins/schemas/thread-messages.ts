import type { Json } from '../../contracts/json.ts';
import type { ToCompile } from './compile-schema.ts';

/** A message to a validator thread. */
export interface Question {
  /** Key of the schema. */
  key: number;
  /** Sent before the first value for this schema. */
  toCompile?: ToCompile;
  value?: Json;
  /** Drops all schemas that were compiled before. */
  forget?: true;
}

export type ThreadAnswer = ({ problems: string[] } | { unusable: string }) & { tookMs: number };

/** Memory that the thread and the worker share: the regular expression that is being matched. */
export interface Shared {
  length: Int32Array;
  text: Uint16Array;
}

const LONGEST_PATTERN = 200;

export function makeShared(): Shared {
  return { length: new Int32Array(new SharedArrayBuffer(4)), text: new Uint16Array(new SharedArrayBuffer(2 * LONGEST_PATTERN)) };
}

export function patternOf({ length, text }: Shared): string | undefined {
  const count = Atomics.load(length, 0);
  return count === 0 ? undefined : String.fromCharCode(...text.subarray(0, count));
}
