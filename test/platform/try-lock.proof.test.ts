import * as fc from 'fast-check';
import { tryLock, type LockGround } from '../../src/platform/try-lock.ts';

interface Process {
  name: string;
  /** Lets the process do its next step. */
  next: () => void;
  isInside: boolean;
}

/** Processes and locks in memory. Each step of a process waits until the test lets it happen; a killed process waits for ever. */
class World {
  readonly #locks = new Map<string, string>();
  readonly #processes = new Map<number, Process>();
  #attempts = 0;
  /** How often the lock was taken. */
  taken = 0;

  /** The process in this place does one step, or one is started there. */
  async step(place: number, name: string): Promise<void> {
    const process = this.#processes.get(place);
    if (process) process.next();
    else this.#start(place, name);
    await new Promise((resolve) => setImmediate(resolve));
  }

  kill(place: number): void {
    this.#processes.delete(place);
  }

  holders(): number {
    return [...this.#processes.values()].filter(({ isInside }) => isInside).length;
  }

  #start(place: number, name: string): void {
    const process: Process = { name, next: () => undefined, isInside: false };
    this.#processes.set(place, process);
    const turn = () => new Promise<void>((resolve) => (process.next = resolve));
    const inTurn = async <T>(act: () => T): Promise<T> => {
      await turn();
      return act();
    };
    const ground: LockGround = {
      make: (path, text) => inTurn(() => !this.#locks.has(path) && this.#locks.set(path, text).has(path)),
      read: (path) => inTurn(() => this.#locks.get(path)),
      remove: (path) => inTurn(() => void this.#locks.delete(path)),
      isAbandoned: (_path, text) => inTurn(() => ![...this.#processes.values()].some(({ name }) => text.startsWith(`${name} `))),
    };
    const live = async () => {
      for (;;) {
        const mine = `${name} ${(this.#attempts += 1)}`;
        while (!(await tryLock(ground, 'lock', mine))) await turn();
        process.isInside = true;
        this.taken += 1;
        await turn();
        process.isInside = false;
        await ground.remove('lock');
      }
    };
    void live();
  }
}

const PLACES = 4;
const MORE_THAN_ENOUGH = 1_000;
const something = fc.record({ place: fc.nat(PLACES - 1), steps: fc.nat(7), killed: fc.nat(3).map((dice) => dice === 0) });
const interleavings = fc.array(something, { minLength: 10, maxLength: 60, size: 'max' });

async function play(world: World, interleaving: { place: number; steps: number; killed: boolean }[], nameOf: (place: number, number: number) => string) {
  for (const [number, { place, steps, killed }] of interleaving.entries()) {
    for (let step = 0; step < steps; step += 1) {
      await world.step(place, nameOf(place, number));
      expect(world.holders()).toBeLessThanOrEqual(1);
    }
    if (killed) world.kill(place);
  }
}

test('however processes are interleaved and killed, never two hold a lock, and it is always taken again', async () => {
  await fc.assert(
    fc.asyncProperty(interleavings, async (interleaving) => {
      const world = new World();
      await play(world, interleaving, (place, number) => `${place}-${number}`);
      const before = world.taken;
      for (let round = 0; world.taken < before + 2 && round < MORE_THAN_ENOUGH; round += 1) await world.step(round % PLACES, `last-${round}`);
      expect(world.taken).toBe(before + 2);
    }),
    { numRuns: 200 },
  );
});

test('never two hold a lock where only the ids of processes are known, and ids come again', async () => {
  await fc.assert(
    fc.asyncProperty(interleavings, (interleaving) => play(new World(), interleaving, (place) => String(place))),
    { numRuns: 200 },
  );
});
