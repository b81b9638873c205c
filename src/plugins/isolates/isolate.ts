import { failure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../log.ts';
import { createBreaker, type Breaker } from './breaker.ts';
import type { IsolateHealth } from './isolate-health.ts';
import { speakWith, type CallRequest, type Limits, type LoadedProcess } from './loaded-process.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { Processes } from './processes.ts';
import type { Description, Grants } from './protocol.ts';

/** A plugin behind its fence: one process at a time, replaced when it ends. */
export interface Isolate {
  /** What the plugin says of itself. */
  describe(): Promise<Description>;
  /** @throws TOOL_FAILED when its process ends meanwhile or may not be started now; an Error with the plugin's message when the function throws. */
  call(request: CallRequest): Promise<Json>;
  health(): IsolateHealth;
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
  log: Logger;
  /** Milliseconds; the breaker's clock. */
  now: () => number;
}

export function createIsolate(options: IsolateOptions): Isolate {
  const { plugin, processes, log, now } = options;
  const breaker = createBreaker(now);
  let current: Promise<AtWork> | undefined;
  let open = true;
  /** The plugin's own `load`, as it was called; a process that replaces another runs it again. */
  let loading: CallRequest | undefined;
  /** Of the first process; the code of those that replace it is the same. */
  let known: Description | undefined;
  let restarts = 0;
  let isRunning = false;

  const start = async () => {
    const process = await processes.take();
    const atWork = await setToWork(process, options, known, loading).catch((error: unknown) => {
      breaker.failed();
      throw error;
    });
    if (known) restarts += 1;
    known = atWork.description;
    isRunning = process.alive();
    void process.ended.then((why) => ended(why));
    return atWork;
  };
  const ended = (why: string): void => {
    current = undefined;
    isRunning = false;
    if (!open) return;
    breaker.failed();
    log.warn({ plugin, why }, 'the process of a plugin was ended');
    // The next call finds it at work again.
    if (breaker.waits() === undefined) acquire().catch((error: unknown) => log.warn({ plugin, err: error }, 'the process of a plugin was not replaced'));
  };
  const acquire = () => {
    const starting = (current ??= start());
    starting.catch(() => {
      if (current === starting) current = undefined;
    });
    return starting;
  };
  return {
    health() {
      const withoutProcess = breaker.isOpen() ? 'left-alone' : 'broken';
      return { state: isRunning ? 'running' : current ? 'starting' : withoutProcess, restarts };
    },
    describe: async () => (await acquire()).description,
    async call(request) {
      if (!open) throw failure('TOOL_FAILED', { tool: request.name, problem: 'the worker is stopping' });
      refuseWhileOpen(breaker, request.name);
      const { loaded } = await acquire();
      const value = await loaded.call(request);
      loading = loadingAfter(request, loading);
      breaker.succeeded();
      return value;
    },
    async close() {
      open = false;
      const last = await current?.catch(() => undefined);
      last?.loaded.process.kill('the plugin was closed');
      await last?.loaded.process.ended;
    },
  };
}

interface AtWork {
  loaded: LoadedProcess;
  description: Description;
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

function refuseWhileOpen(breaker: Breaker, name: string): void {
  const waits = breaker.waits();
  if (waits === undefined) return;
  const problem = `its process was ended too often; it is tried again in ${Math.ceil(waits / 1_000)} s`;
  throw failure('TOOL_FAILED', { tool: name, problem });
}

/** The call of `load` by which a new process comes to where this one is. */
function loadingAfter({ target, args, ...request }: CallRequest, loading: CallRequest | undefined): CallRequest | undefined {
  const hook = 'hook' in target && target.hook;
  if (hook === 'load') return { ...request, target, args };
  const [scope, config = {}] = args;
  if (hook !== 'updateConfig' || scope !== 'self' || !loading) return loading;
  return { ...loading, args: [{ ...(loading.args[0] as JsonObject), config }] };
}

/** What it says is checked by the one definePlugin; here only that it is an object at all. */
function descriptionOf(value: Json): Description {
  const { plugin, hooks } = (value ?? {}) as { plugin?: Json; hooks?: Json };
  const usable = plugin !== null && typeof plugin === 'object' && !Array.isArray(plugin) && Array.isArray(hooks);
  if (!usable) throw new Error('its process did not describe it');
  return { plugin, hooks: hooks.filter((name) => typeof name === 'string') };
}
