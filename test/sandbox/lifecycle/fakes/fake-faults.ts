import * as fc from 'fast-check';
import { failure } from '../../../../src/contracts/errors.ts';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';

/** A connection is lost before the database gets a statement, or before its answer comes back. */
type Loss = 'before' | 'after' | undefined;

/** Of each thing that is asked for, in order, what becomes of it; all that follows is done. */
export interface FaultPlan {
  refusals: boolean[];
  losses: Loss[];
}

export const NO_FAULTS: FaultPlan = { refusals: [], losses: [] };

export const faultPlan: fc.Arbitrary<FaultPlan> = fc.record({
  refusals: fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, fc.constant(true)), { minLength: 1, maxLength: 40 }),
  losses: fc.array(fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.constantFrom('before' as const, 'after' as const)), { maxLength: 40 }),
});

type Calls = Record<string, (...args: unknown[]) => unknown>;

const LOST = failure('POSTGRES_UNAVAILABLE', { problem: 'the connection was lost' });
/** What an engine may refuse, such as one with a full disk; it still shows what there is. */
const REFUSABLE = [
  'create',
  'createAttached',
  'start',
  'pause',
  'unpause',
  'stop',
  'removeContainer',
  'removeVolume',
  'openBridge',
  'make',
  'restore',
  'remove',
  'rename',
  'removeEnded',
  'createVolume',
  'copy',
  'unpack',
  'bringBack',
];

/** What goes wrong on a host; it may be set at any time. */
export class Faults {
  /** Whether this host does not reach the database. */
  isCutOff = false;
  /** Whether the engine refuses what it is asked next. */
  refuses: (call: string) => boolean = () => false;
  /** Whether the connection of the next statement is lost. */
  loses: () => Loss = () => undefined;
}

/** What several hosts share is used up by all of them. */
export function planned({ refusals, losses }: FaultPlan): Pick<Faults, 'refuses' | 'loses'> {
  const [toRefuse, toLose] = [[...refusals], [...losses]];
  return { refuses: () => toRefuse.shift() === true, loses: () => toLose.shift() };
}

export function refusable(faults: Faults, engine: Engine): Engine {
  return refusing(faults, engine as unknown as Part) as unknown as Engine;
}

type Part = Record<string, unknown>;

/** Of an engine, its parts, and the jobs that it makes. */
function refusing(faults: Faults, part: Part): Part {
  const made = Object.entries(part).map(([name, value]): [string, unknown] => {
    if (typeof value === 'object' && value !== null) return [name, refusing(faults, value as Part)];
    if (typeof value !== 'function') return [name, value];
    const call = value as (...args: unknown[]) => unknown;
    if (name === 'jobs') return [name, (...args: unknown[]) => refusing(faults, call(...args) as Part)];
    if (!REFUSABLE.includes(name)) return [name, value];
    const refusable = async (...args: unknown[]) => {
      if (faults.refuses(name)) throw failure('DOCKER_FAILED', { action: name, problem: 'no space left on device' });
      return call(...args);
    };
    return [name, refusable];
  });
  return Object.fromEntries(made);
}

export function whileConnected<T extends Record<string, object>>(faults: Faults, families: T): T {
  const connected = (family: object) =>
    Object.fromEntries(
      Object.entries(family as Calls).map(([name, query]) => [
        name,
        async (...args: unknown[]) => {
          if (faults.isCutOff) throw failure('POSTGRES_UNAVAILABLE', { problem: 'this host is cut off' });
          const lost = faults.loses();
          if (lost === 'before') throw LOST;
          const result = await query(...args);
          if (lost === 'after') throw LOST;
          return result;
        },
      ]),
    );
  return Object.fromEntries(Object.entries(families).map(([name, family]) => [name, connected(family)])) as T;
}
