interface Timer {
  atMs: number;
  order: number;
  act: () => void;
}

type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'>;

/** Virtual. Longer than everything that an operation may wait for: the patience with an engine, the silence of a stream or of a host. */
const LIMIT_MS = 900_000;
/** Any date: what was last done at 0 was long ago. */
const BEGAN_MS = 1_000_000_000_000;

/** Replaces the global timers and clocks: time passes at once, and only when it is told to. Streams and promises are Node's own. */
export class FakeTime {
  nowMs = 0;
  readonly #timers = new Map<number, Timer>();
  readonly #real = { ...timersOf(globalThis), now: performance.now.bind(performance), date: Date.now };
  readonly #turn = globalThis.setImmediate;
  #count = 0;

  constructor() {
    const set = (act: (...args: unknown[]) => void, delay = 0, ...args: unknown[]) => {
      const order = (this.#count += 1);
      this.#timers.set(order, { atMs: this.nowMs + Math.max(1, delay), order, act: () => act(...args) });
      const timer = { unref: () => timer, ref: () => timer, hasRef: () => true, refresh: () => timer, [Symbol.toPrimitive]: () => order };
      return timer;
    };
    const clear = (timer: unknown) => void (timer != null && this.#timers.delete(Number(timer)));
    const setRepeating = (act: (...args: unknown[]) => void, delay = 0, ...args: unknown[]) => {
      const timer = set(act, delay, ...args);
      const repeat = () => {
        this.#timers.set(Number(timer), { atMs: this.nowMs + Math.max(1, delay), order: Number(timer), act: repeat });
        act(...args);
      };
      this.#timers.get(Number(timer))!.act = repeat;
      return timer;
    };
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear, setInterval: setRepeating, clearInterval: clear });
    performance.now = () => this.nowMs;
    Date.now = () => BEGAN_MS + this.nowMs;
  }

  /** Lets streams and promises come to rest. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => this.#turn(resolve));
  }

  /** Passes to the next timer; false when there is none. */
  pass(): boolean {
    const next = [...this.#timers.values()].reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.atMs < first.atMs || (timer.atMs === first.atMs && timer.order < first.order) ? timer : first),
      undefined,
    );
    if (next === undefined) return false;
    this.#timers.delete(next.order);
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.act();
    return true;
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, timersOf(this.#real));
    performance.now = this.#real.now;
    Date.now = this.#real.date;
  }
}

function timersOf({ setTimeout, clearTimeout, setInterval, clearInterval }: Timers): Timers {
  return { setTimeout, clearTimeout, setInterval, clearInterval };
}

/** Lets time pass until a piece of work has ended, and gives its result. */
export function runIn(time: FakeTime): <T>(work: Promise<T>) => Promise<T> {
  return async (work) => {
    let isOver = false;
    void work.catch(() => undefined).then(() => (isOver = true));
    await until(time, () => isOver);
    return work;
  };
}

/** Time passes only when nothing else is left to do, so that each order of events is one of its own. */
export async function until(time: FakeTime, isOver: () => boolean): Promise<void> {
  const endMs = time.nowMs + LIMIT_MS;
  for (;;) {
    await time.settle();
    if (isOver()) return;
    if (time.nowMs > endMs || !time.pass()) throw new Error(`not within ${LIMIT_MS} ms`);
  }
}
