import type { Grants } from '../guest-protocol.ts';
import { logTextOf } from './log-text-of.ts';
import { GuestAbortController, GuestAbortSignal } from './web/abort.ts';
import { base64OfText, textOfBase64 } from './web/base64.ts';
import { GuestBlob, GuestFile } from './web/blob.ts';
import { GuestFormData } from './web/form-data.ts';
import { GuestHeaders } from './web/headers.ts';
import { GuestRequest } from './web/request.ts';
import { GuestResponse } from './web/response.ts';
import { GuestTextDecoder, GuestTextEncoder } from './web/text-codecs.ts';
import { GuestURL, GuestURLSearchParams } from './web/url.ts';

/** How code in a compartment reaches the worker. */
export interface Outside {
  fetch: (url: unknown, init?: unknown) => Promise<unknown>;
  readFile: (path: unknown) => Promise<unknown>;
  log: (what: 'info' | 'warn', text: string) => void;
}

type Timer = ReturnType<typeof setTimeout>;

const MAX_TIMERS = 1_000;
const MAX_LOG_LENGTH = 4_000;

const DateTimeFormat = harden(Intl.DateTimeFormat);

/**
 * Classes that conversations share. They are frozen with everything that is reachable from them. Their objects keep objects of the platform in private
 * fields: the platform's own objects and errors lead to prototypes that one conversation could change for another.
 */
const CLASSES = harden({
  URL: GuestURL,
  URLSearchParams: GuestURLSearchParams,
  TextEncoder: GuestTextEncoder,
  TextDecoder: GuestTextDecoder,
  AbortController: GuestAbortController,
  AbortSignal: GuestAbortSignal,
  Headers: GuestHeaders,
  Request: GuestRequest,
  Response: GuestResponse,
  FormData: GuestFormData,
  Blob: GuestBlob,
  File: GuestFile,
});

export interface Globals {
  /** The global names of one compartment besides those of the language. Other names do not exist in it. */
  names: Record<string, unknown>;
  /** Ends its timers, which would keep the compartment in memory. None is started after this. */
  end: () => void;
}

export function createGlobals(grants: Grants, outside: Outside): Globals {
  const timers = createTimers(outside);
  const safe = {
    ...timers.names,
    console: createConsole(outside),
    ...CLASSES,
    atob: (text: unknown) => textOfBase64(text),
    btoa: (text: unknown) => base64OfText(text),
    queueMicrotask: (task: unknown) => queueMicrotask(guarded(task, [], outside)),
  };
  const names = harden({
    ...safe,
    ...(grants.time && { Date, Intl: { DateTimeFormat } }),
    ...(grants.random && { Math }),
    ...(grants.network && { fetch: (url: unknown, init?: unknown) => outside.fetch(url, init) }),
    ...(grants.files && { readFile: (path: unknown) => outside.readFile(path) }),
  });
  return { names, end: timers.end };
}

/** Timers are numbers here: the platform's timer objects are linked to each other, and lead to the timers of other conversations. */
function createTimers(outside: Outside): Globals {
  const timers = new Map<number, Timer>();
  let last = 0;
  let open = true;
  const start = (task: unknown, delay: unknown, args: unknown[], repeat: boolean): number => {
    if (timers.size >= MAX_TIMERS) throw new RangeError(`More than ${MAX_TIMERS} timers at a time`);
    last += 1;
    const id = last;
    const run = guarded(task, args, outside);
    if (!open) return id;
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
  const names = {
    setTimeout: (task: unknown, delay?: unknown, ...args: unknown[]) => start(task, delay, args, false),
    setInterval: (task: unknown, delay?: unknown, ...args: unknown[]) => start(task, delay, args, true),
    clearTimeout: stop,
    clearInterval: stop,
  };
  const end = (): void => {
    open = false;
    for (const id of timers.keys()) stop(id);
  };
  return { names, end };
}

/** Logs an error that no caller waits for. It must not end the process, which serves other conversations. */
function guarded(task: unknown, args: unknown[], outside: Outside): () => void {
  if (typeof task !== 'function') throw new TypeError('The task has to be a function');
  return () => {
    try {
      (task as (...given: unknown[]) => unknown)(...args);
    } catch (error) {
      outside.log('warn', `an error in a timer or microtask: ${logTextOf(error)}`);
    }
  };
}

function createConsole({ log }: Outside): Record<string, unknown> {
  const write =
    (what: 'info' | 'warn') =>
    (...values: unknown[]) =>
      log(what, values.map(logTextOf).join(' ').slice(0, MAX_LOG_LENGTH));
  const [info, warn] = [write('info'), write('warn')];
  return { log: info, info, debug: info, trace: info, warn, error: warn };
}
