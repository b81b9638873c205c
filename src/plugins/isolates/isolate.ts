import { failure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../log.ts';
import { createBreaker, type Breaker } from './breaker.ts';
import { wasNeverRead } from './calls.ts';
import type { IsolateHealth } from './isolate-health.ts';
import { KeptProcess, type AtWork } from './kept-process.ts';
import { speakWith, type CallRequest, type Limits } from './loaded-process.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { Processes } from './processes.ts';
import type { Description, Grants } from './protocol.ts';

const UNLOAD_TIMEOUT_MS = 10_000;

/** A plugin behind its fence: one process at a time, replaced when it ends, and none while nobody uses it. */
export interface Isolate {
  /** What the plugin says of itself. */
  describe(): Promise<Description>;
  /** @throws TOOL_FAILED when its process ends meanwhile or may not be started now; an Error with the plugin's message when the function throws. */
  call(request: CallRequest): Promise<Json>;
  /** What the plugin's own `load` was given, with the configuration of now; undefined where it was not called. */
  loadedWith(): Json[] | undefined;
  health(): IsolateHealth;
  /** Its process was ended because nobody used it; the next call starts another. */
  isAsleep(): boolean;
  /** Ends its process. */
  close(): Promise<void>;
}

export interface IsolateOptions {
  /** Id or name of the plugin, for messages. */
  plugin: string;
  /** A script whose value is an object with the plugin as `default`. */
  code: string;
  /** For what the code does while it is loaded. */
  grants: Grants;
  processes: Processes;
  limits: Limits;
  /** Milliseconds without a call after which its process is ended; 0 is never. */
  idleMs: number;
  /** Told when it has fallen asleep and when it is woken. */
  onRest: () => void;
  log: Logger;
  /** Milliseconds; the breaker's clock. */
  now: () => number;
}

export function createIsolate(options: IsolateOptions): Isolate {
  const { plugin, processes, idleMs, onRest, log, now } = options;
  const breaker = createBreaker(now);
  let open = true;
  /** The plugin's own `load`, as it was called; a process that replaces another runs it again. */
  let loading: CallRequest | undefined;
  /** Of the first process; the code of those that replace it is the same. */
  let known: Description | undefined;
  let restarts = 0;

  const start = async (): Promise<AtWork> => {
    const process = await processes.take();
    const atWork = await setToWork(process, options, known, loading).catch((error: unknown) => {
      breaker.failed();
      throw error;
    });
    known = atWork.description;
    return atWork;
  };
  const kept = new KeptProcess({
    start,
    idleMs,
    now,
    onLost(why) {
      breaker.failed();
      log.warn({ plugin, why }, 'the process of a plugin was ended');
      const isReplaced = breaker.waits() === undefined;
      if (isReplaced) restarts += 1;
      return isReplaced;
    },
    onNotReplaced: (error) => log.warn({ plugin, err: error }, 'the process of a plugin was not replaced'),
    onRest(asleep) {
      log.info({ plugin }, asleep ? 'a plugin sleeps until it is called' : 'a plugin was woken by a call');
      onRest();
    },
    beforeSleep: (atWork) => unload(atWork, options),
  });
  return {
    describe: () => kept.use(async ({ description }) => description),
    loadedWith: () => loading?.args,
    health: () => ({ state: kept.state() ?? (breaker.isOpen() ? 'left-alone' : 'broken'), restarts }),
    isAsleep: () => kept.isAsleep(),
    async call(request) {
      if (!open) throw failure('TOOL_FAILED', { tool: request.name, problem: 'the worker is stopping' });
      // It does that when it falls asleep.
      if (kept.isAsleep() && isHook(request, 'unload')) return kept.gone().then(() => null);
      const check = () => refuseWhileOpen(breaker, request.name);
      const value = await callWhereRead(request, { check, isOpen: () => open, call: (again) => kept.use(({ loaded }) => loaded.call(again)) });
      loading = loadingAfter(request, loading);
      breaker.succeeded();
      return value;
    },
    async close() {
      open = false;
      await kept.close();
    },
  };
}

/** Gives a process the plugin's code; one that cannot be set to work is ended. */
async function setToWork(process: PluginProcess, options: IsolateOptions, known?: Description, loading?: CallRequest): Promise<AtWork> {
  const loaded = speakWith(process, options);
  try {
    if (!known) return { loaded, description: descriptionOf(await loaded.load(options.code, options.grants)) };
    await loaded.loadAgain(options.code, options.grants, loading?.args);
    return { loaded, description: known };
  } catch (error) {
    process.kill('it could not be set to work');
    throw error;
  }
}

interface Calling {
  /** Throws where no process is to be started. */
  check: () => void;
  isOpen: () => boolean;
  call: (request: CallRequest) => Promise<Json>;
}

/** A call that a process ended without having read it has done nothing, so it goes to the next one, for as long as it has time. */
async function callWhereRead(request: CallRequest, { check, isOpen, call }: Calling): Promise<Json> {
  const until = performance.now() + request.timeoutMs;
  for (let again = request; ; again = { ...request, timeoutMs: Math.max(1, until - performance.now()) }) {
    check();
    try {
      return await call(again);
    } catch (error) {
      if (!wasNeverRead(error) || !isOpen()) throw error;
      // The process that ended is forgotten first.
      await new Promise(setImmediate);
    }
  }
}

function refuseWhileOpen(breaker: Breaker, name: string): void {
  const waits = breaker.waits();
  if (waits === undefined) return;
  const problem = `its process was ended too often; it is tried again in ${Math.ceil(waits / 1_000)} s`;
  throw failure('TOOL_FAILED', { tool: name, problem });
}

async function unload({ loaded, description }: AtWork, { plugin, grants, log }: IsolateOptions): Promise<void> {
  if (!description.hooks.includes('unload')) return;
  const request = { name: `${plugin}.unload`, target: { hook: 'unload' }, conversation: '', grants, args: [], timeoutMs: UNLOAD_TIMEOUT_MS };
  await loaded.call(request).catch((error: unknown) => log.warn({ plugin, err: error }, 'a plugin failed to unload before its sleep'));
}

function isHook({ target }: CallRequest, name: string): boolean {
  return 'hook' in target && target.hook === name;
}

/** The call of `load` by which a new process comes to where this one is. */
function loadingAfter(request: CallRequest, loading: CallRequest | undefined): CallRequest | undefined {
  if (isHook(request, 'load')) return request;
  const [scope, config = {}] = request.args;
  if (!isHook(request, 'updateConfig') || scope !== 'self' || !loading) return loading;
  return { ...loading, args: [{ ...(loading.args[0] as JsonObject), config }] };
}

/** What it says is checked by the one definePlugin; here only that it is an object at all. */
function descriptionOf(value: Json): Description {
  const { plugin, hooks } = (value ?? {}) as { plugin?: Json; hooks?: Json };
  const usable = plugin !== null && typeof plugin === 'object' && !Array.isArray(plugin) && Array.isArray(hooks);
  if (!usable) throw new Error('its process did not describe it');
  return { plugin, hooks: hooks.filter((name) => typeof name === 'string') };
}
