import type { Grants } from '../protocol.ts';
import { GuestAbortController, GuestAbortSignal } from './abort.ts';
import { textOf } from './text-of.ts';

/** How code in a compartment reaches the worker. */
export interface Outside {
  fetch: (url: unknown, init?: unknown) => Promise<unknown>;
  readFile: (path: unknown) => Promise<unknown>;
  log: (what: 'info' | 'warn', text: string) => void;
}

type Timer = ReturnType<typeof setTimeout>;

const MAX_TIMERS = 1_000;
const MAX_LOG_LENGTH = 4_000;

/** The platform's classes that plugins share. Everything reachable from them is frozen: what one conversation could change there, another would see. */
const { URL, URLSearchParams, TextEncoder, TextDecoder } = globalThis;
for (const name of ['createObjectURL', 'revokeObjectURL', 'resolveObjectURL']) Reflect.deleteProperty(URL, name);
harden(Object.getPrototypeOf(new URLSearchParams().entries()));
for (const shared of [URL, URLSearchParams, TextEncoder, TextDecoder, GuestAbortController, GuestAbortSignal]) harden(shared);
const DateTimeFormat = harden(Intl.DateTimeFormat);

/** The global names of one compartment besides the language's own. What is not named here does not exist in it. */
export function createGlobals(grants: Grants, outside: Outside): Record<string, unknown> {
  const safe = {
    ...createTimers(outside),
    console: createConsole(outside),
    URL,
    URLSearchParams,
    TextEncoder,
    TextDecoder,
    AbortController: GuestAbortController,
    AbortSignal: GuestAbortSignal,
    atob: (text: unknown) => atob(String(text)),
    btoa: (text: unknown) => btoa(String(text)),
    queueMicrotask: (task: unknown) => queueMicrotask(guarded(task, [], outside)),
  };
  return harden({
    ...safe,
    ...(grants.time && { Date, Intl: { DateTimeFormat } }),
    ...(grants.random && { Math }),
    ...(grants.network && { fetch: (url: unknown, init?: unknown) => outside.fetch(url, init) }),
    ...(grants.files && { readFile: (path: unknown) => outside.readFile(path) }),
  });
}

/** Timers are numbers here: the platform's own objects are linked to each other and lead to the timers of other conversations. */
function createTimers(outside: Outside): Record<string, unknown> {
  const timers = new Map<number, Timer>();
  let last = 0;
  const start = (task: unknown, delay: unknown, args: unknown[], repeat: boolean): number => {
    if (timers.size >= MAX_TIMERS) throw new RangeError(`More than ${MAX_TIMERS} timers at a time`);
    last += 1;
    const id = last;
    const run = guarded(task, args, outside);
    const once = () => {
      timers.delete(id);
      run();
    };
    timers.set(id, repeat ? setInterval(run, Number(delay)) : setTimeout(once, Number(delay)));
    return id;
  };
  const stop = (id: unknown): void => {
    clearTimeout(timers.get(id as number));
    timers.delete(id as number);
  };
  return {
    setTimeout: (task: unknown, delay?: unknown, ...args: unknown[]) => start(task, delay, args, false),
    setInterval: (task: unknown, delay?: unknown, ...args: unknown[]) => start(task, delay, args, true),
    clearTimeout: stop,
    clearInterval: stop,
  };
}

/** What throws where nobody waits for it is logged; it must not end the process of the other conversations. */
function guarded(task: unknown, args: unknown[], outside: Outside): () => void {
  if (typeof task !== 'function') throw new TypeError('The task has to be a function');
  return () => {
    try {
      (task as (...given: unknown[]) => unknown)(...args);
    } catch (error) {
      outside.log('warn', `an error in a timer or microtask: ${textOf(error)}`);
    }
  };
}

function createConsole({ log }: Outside): Record<string, unknown> {
  const write =
    (what: 'info' | 'warn') =>
    (...values: unknown[]) =>
      log(what, values.map(textOf).join(' ').slice(0, MAX_LOG_LENGTH));
  const [info, warn] = [write('info'), write('warn')];
  return { log: info, info, debug: info, trace: info, warn, error: warn };
}
