import { stringOf } from './string-of.ts';

/** The part of an event that listeners of an abort read. It has no time stamp, because code without the permission `time` must not have a clock. */
interface AbortEvent {
  readonly type: 'abort';
  readonly target: GuestAbortSignal;
  readonly currentTarget: GuestAbortSignal;
}
type Listener = ((event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void };

interface SignalState {
  aborted: boolean;
  reason: unknown;
  /** Each is called once at most, because a signal aborts once. */
  listeners: Set<Listener>;
}

const MAX_DELAY = 2_147_483_647;
/** Limit for the whole process. */
const MAX_TIMEOUTS = 10_000;
let timeouts = 0;

let stateOf: (signal: GuestAbortSignal) => SignalState;

/** The platform's AbortSignal without access to the platform's objects. */
export class GuestAbortSignal {
  static {
    stateOf = (signal) => signal.#state;
  }

  onabort: ((event: AbortEvent) => void) | null = null;
  readonly #state: SignalState = { aborted: false, reason: undefined, listeners: new Set() };

  static abort(reason?: unknown): GuestAbortSignal {
    const signal = new GuestAbortSignal();
    abortGuestSignal(signal, reason);
    return signal;
  }

  static any(signals: Iterable<GuestAbortSignal>): GuestAbortSignal {
    const sources = [...signals];
    const first = sources.find((source) => source.aborted);
    if (first) return GuestAbortSignal.abort(first.reason);
    const signal = new GuestAbortSignal();
    for (const source of sources) source.addEventListener('abort', () => abortGuestSignal(signal, source.reason), { once: true });
    return signal;
  }

  /** The timer does not keep the process alive. */
  static timeout(ms: unknown): GuestAbortSignal {
    const delay = Number(ms);
    if (!(delay >= 0 && delay <= MAX_DELAY)) throw new RangeError(`The time ${stringOf(ms)} is not between 0 and ${MAX_DELAY} ms`);
    if (timeouts >= MAX_TIMEOUTS) throw new RangeError(`More than ${MAX_TIMEOUTS} timeouts at a time`);
    timeouts += 1;
    const signal = new GuestAbortSignal();
    const end = () => {
      timeouts -= 1;
      abortGuestSignal(signal, namedError('TimeoutError', 'The operation was aborted due to timeout'));
    };
    setTimeout(end, delay).unref();
    return signal;
  }

  get aborted(): boolean {
    return stateOf(this).aborted;
  }

  get reason(): unknown {
    return stateOf(this).reason;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(type: string, listener: Listener | null, options?: boolean | { once?: boolean; signal?: GuestAbortSignal } | null): void {
    if (type !== 'abort' || !listener) return;
    const { listeners, aborted } = stateOf(this);
    const until = typeof options === 'object' ? options?.signal : undefined;
    if (aborted || until?.aborted || listeners.has(listener)) return;
    listeners.add(listener);
    until?.addEventListener('abort', () => listeners.delete(listener));
  }

  removeEventListener(type: string, listener: Listener | null): void {
    if (type === 'abort' && listener) stateOf(this).listeners.delete(listener);
  }
}

/** Aborts a signal. A listener that throws does not stop the other listeners. */
export function abortGuestSignal(signal: GuestAbortSignal, reason: unknown = abortError()): void {
  const state = stateOf(signal);
  if (state.aborted) return;
  state.aborted = true;
  state.reason = reason;
  const event: AbortEvent = Object.freeze({ type: 'abort', target: signal, currentTarget: signal });
  attempt(() => signal.onabort?.(event));
  // A listener may remove one that comes after it.
  for (const listener of state.listeners) {
    state.listeners.delete(listener);
    attempt(() => (typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event)));
  }
}

/** Runs code of the plugin, of which no caller waits for an error. Also to read a property may run code. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // As said above.
  }
}

export class GuestAbortController {
  readonly signal = new GuestAbortSignal();

  abort(reason?: unknown): void {
    abortGuestSignal(this.signal, reason);
  }
}

function abortError(): Error {
  return namedError('AbortError', 'This operation was aborted');
}

function namedError(name: string, message: string): Error {
  const error = new Error(message);
  Object.defineProperty(error, 'name', { value: name });
  return error;
}

harden(GuestAbortSignal);
harden(GuestAbortController);
