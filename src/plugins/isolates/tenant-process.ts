import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { Logger } from '../../platform/log.ts';
import { createBreaker, type Breaker } from './breaker.ts';
import { wasNeverRead } from './calls.ts';
import type { IsolateHealth } from './isolate-health.ts';
import { KeptProcess, type AtWork, type Wanting } from './kept-process.ts';
import { speakWith, type CallRequest, type ProcessLimits } from './loaded-process.ts';
import type { Places } from './places.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { Processes } from './plugin-processes.ts';
import type { Description, Grants } from './guest-protocol.ts';

/** The process of a plugin for one tenant, or for none yet. There is one at a time, with a breaker of its own. */
export interface TenantProcess {
  /** Undefined until data of a tenant may pass through it; after that it never serves another tenant. */
  tenant: string | undefined;
  describe(): Promise<Description>;
  call(request: CallRequest): Promise<Json>;
  /** Calls the process where there is one; does not start one. */
  callIfRunning(request: CallRequest): Promise<Json | undefined>;
  /** Passes on a change that its plugin accepted. A process that fails to apply it is ended: the next process starts with the current state. */
  follow(change: CallRequest): Promise<void>;
  health(): IsolateHealth;
  isAsleep(): boolean;
  /** Nothing is lost when it is removed: it has no process, and none failed recently. */
  isForgettable(): boolean;
  /** Resolves when the processes that fell asleep have ended. */
  gone(): Promise<void>;
  close(): Promise<void>;
}

export interface TenantProcessOptions {
  /** Id or name of the plugin, for messages. */
  plugin: string;
  /** A script whose value is an object with the plugin as `default`. */
  code: string;
  /** Grants for what the code does while it is loaded. */
  grants: Grants;
  processes: Processes;
  places: Places;
  limits: ProcessLimits;
  /** Milliseconds without a call after which its process is ended; 0: never. */
  idleMs: number;
  log: Logger;
  /** Milliseconds. */
  now: () => number;
}

/** The state with which a process of the plugin starts. */
export interface Beginning {
  /** Description by the first process, before it received data of a tenant. The code of the others is the same. */
  known: Description | undefined;
  /** The call of the plugin's own `load`, with the current configuration. */
  loading: CallRequest | undefined;
}

const UNLOAD_TIMEOUT_MS = 10_000;
/** Shorter, because others wait for the place. */
const UNLOAD_FOR_ROOM_TIMEOUT_MS = 2_000;
/** Limit on the wait for a place; a start has a limit of its own. */
const DESCRIBE_TIMEOUT_MS = 60_000;

export function createTenantProcess(options: TenantProcessOptions, beginning: () => Beginning, onRest: () => void): TenantProcess {
  const { plugin, processes, places, idleMs, log, now } = options;
  const breaker = createBreaker(now);
  let open = true;
  let restarts = 0;
  const about = () => ({ plugin, ...(made.tenant !== undefined && { tenant: made.tenant }) });
  const start = async (): Promise<AtWork> => {
    const process = await processes.take();
    return await setToWork(process, options, beginning()).catch((error: unknown) => {
      breaker.failed();
      throw error;
    });
  };
  const kept = new KeptProcess({
    start,
    places,
    idleMs,
    now,
    onLost(why) {
      breaker.failed();
      log.warn({ ...about(), why }, 'the process of a plugin was ended');
      const isReplaced = breaker.waits() === undefined;
      if (isReplaced) restarts += 1;
      return isReplaced;
    },
    onNotReplaced: (error) => log.warn({ ...about(), err: error }, 'the process of a plugin was not replaced'),
    onRest(_asleep, forRoom) {
      if (forRoom) log.info(about(), 'the process of a plugin makes room for another; see LONGSHORE_PLUGIN_PROCESSES');
      onRest();
    },
    beforeSleep: (atWork, forRoom) => unload(atWork, options, forRoom ? UNLOAD_FOR_ROOM_TIMEOUT_MS : UNLOAD_TIMEOUT_MS),
  });
  const made: TenantProcess = {
    tenant: undefined,
    describe: () => kept.use(async ({ description }) => description, { name: plugin, timeoutMs: DESCRIBE_TIMEOUT_MS }),
    async call(request) {
      const check = () => refuseWhileOpen(breaker, request.name);
      const call = (again: CallRequest) => callWithin(kept, again, check);
      const value = await callWhereRead(request, { check, isOpen: () => open, call, now });
      breaker.succeeded();
      return value;
    },
    callIfRunning: (request) => kept.useCurrent(({ loaded }) => loaded.call(request)),
    follow: (change) => follow(kept, change, (error) => log.warn({ ...about(), err: error }, 'a process of a plugin did not apply a change')),
    health: () => ({ state: kept.state() ?? (breaker.isOpen() ? 'left-alone' : 'broken'), restarts }),
    isAsleep: () => kept.isAsleep(),
    isForgettable: () => kept.isEmpty() && breaker.isCalm(),
    gone: () => kept.gone(),
    async close() {
      open = false;
      await kept.close();
    },
  };
  return made;
}

/** Loads the plugin's code into a process. A process that fails to load it is ended. */
async function setToWork(process: PluginProcess, options: TenantProcessOptions, { known, loading }: Beginning): Promise<AtWork> {
  const loaded = speakWith(process, options);
  try {
    if (!known) return { loaded, description: descriptionOf(await loaded.load(options.code, options.grants)) };
    await loaded.loadAgain(options.code, options.grants, loading?.args);
    return { loaded, description: known };
  } catch (error) {
    process.kill('it could not load the plugin');
    throw error;
  }
}

/** The wait for a place counts as time of the call; the start of a process does not. */
function callWithin(kept: KeptProcess, request: CallRequest, check: () => void): Promise<Json> {
  const { name, timeoutMs, caller } = request;
  const wanting: Wanting = { name, timeoutMs, signal: caller?.context.signal, check };
  return kept.use(({ loaded }, waitedMs) => {
    return loaded.call(waitedMs > 0 ? { ...request, timeoutMs: Math.max(1, Math.ceil(timeoutMs - waitedMs)) } : request);
  }, wanting);
}

async function follow(kept: KeptProcess, change: CallRequest, onFailed: (error: unknown) => void): Promise<void> {
  const work = kept.useCurrent(async ({ loaded }) => {
    await loaded.call(change).catch((error: unknown) => {
      onFailed(error);
      loaded.process.kill('it did not apply a change that the plugin accepted');
    });
  });
  // The call that wanted a process reports that it could not be started.
  await work.catch(() => undefined);
}

interface Calling {
  /** Throws where no process may be started. */
  check: () => void;
  isOpen: () => boolean;
  call: (request: CallRequest) => Promise<Json>;
  now: () => number;
}

/** A call whose process ended before it read the call has had no effect. It goes to the next process while it has time left. */
async function callWhereRead(request: CallRequest, { check, isOpen, call, now }: Calling): Promise<Json> {
  const until = now() + request.timeoutMs;
  for (let again = request; ; again = { ...request, timeoutMs: Math.max(1, until - now()) }) {
    check();
    try {
      return await call(again);
    } catch (error) {
      if (!wasNeverRead(error) || !isOpen()) throw error;
      // First the process that ended is removed.
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

async function unload({ loaded, description }: AtWork, { plugin, grants, log }: TenantProcessOptions, timeoutMs: number): Promise<void> {
  if (!description.hooks.includes('unload')) return;
  const request = { name: `${plugin}.unload`, target: { hook: 'unload' }, conversation: '', grants, args: [], timeoutMs };
  await loaded.call(request).catch((error: unknown) => log.warn({ plugin, err: error }, 'a plugin failed to unload before its sleep'));
}

/** Checks only that the description is an object; definePlugin checks its fields. */
function descriptionOf(value: Json): Description {
  const { plugin, hooks } = (value ?? {}) as { plugin?: Json; hooks?: Json };
  const usable = plugin !== null && typeof plugin === 'object' && !Array.isArray(plugin) && Array.isArray(hooks);
  if (!usable) throw new Error('its process did not describe it');
  return { plugin, hooks: hooks.filter((name) => typeof name === 'string') };
}
