import { createTurns } from '../../common/turns.ts';
import { failure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { IsolateHealth } from './isolate-health.ts';
import type { CallRequest } from './loaded-process.ts';
import type { Description } from './guest-protocol.ts';
import { createTenantProcess, type Beginning, type TenantProcess, type TenantProcessOptions } from './tenant-process.ts';

/**
 * A plugin behind its fence. Each tenant has a process of its own, so that code which has broken out of Node reaches no data of another tenant. Questions
 * about the plugin as a whole (its tools, its configuration) go to a process that has received no data of a tenant.
 */
export interface Isolate {
  /** The plugin's description of itself. */
  describe(): Promise<Description>;
  /**
   * @throws PLUGIN_ENDED when its process ends during the call or the plugin is closed during a wait; TOOL_FAILED when the call times out, no process may be
   * started now or the plugin is closed; an Error with the plugin's message when the function throws.
   */
  call(request: CallRequest): Promise<Json>;
  /** The arguments of the plugin's own `load`, with the current configuration; undefined where it was not called. */
  loadedWith(): Json[] | undefined;
  /** One entry for each process; a single entry where there is no process. */
  health(): IsolateHealth[];
  /** Its processes were ended because they were idle; the next call starts another. */
  isAsleep(): boolean;
  /** Ends its processes. */
  close(): Promise<void>;
}

export interface IsolateOptions extends TenantProcessOptions {
  /** Called when its processes are ended for idleness, and when one is started again. */
  onRest: () => void;
}

/** Used for conversations that name no tenant. */
const DEFAULT_TENANT = 'default';

export function createIsolate(options: IsolateOptions): Isolate {
  const beginning: Beginning = { known: undefined, loading: undefined };
  const turns = createTurns();
  const processes = createTenants(options, () => beginning, turns.isFree);
  let open = true;
  const change = async (request: CallRequest): Promise<Json> => {
    if (!open) throw stopping(request);
    const asked = processes.ofNone();
    const value = await asked.call(request);
    beginning.loading = loadingAfter(request, beginning.loading);
    const others = processes.all().filter((each) => each !== asked);
    await Promise.all(others.map((each) => each.follow(request)));
    return value;
  };
  return {
    describe: () => turns.inTurn(async () => (beginning.known = await processes.ofNone().describe())),
    loadedWith: () => beginning.loading?.args,
    health: () => healthOf(processes.all(), processes.retired()),
    isAsleep: processes.isAsleep,
    async call(request) {
      if (!open) throw stopping(request);
      if (isHook(request, 'unload')) return unloadAll(processes.all(), request);
      if (!request.caller) return turns.inTurn(() => change(request));
      return processes.of(request.caller.context.tenantId || DEFAULT_TENANT).call(request);
    },
    async close() {
      open = false;
      await Promise.all(processes.all().map((each) => each.close()));
    },
  };
}

/**
 * The processes of a plugin by their tenants.
 * @param isAdoptable whether a tenant may take over the process that has none. During a question about the plugin as a whole, the tenant's code could give
 * the answer to that question.
 */
function createTenants(options: IsolateOptions, beginning: () => Beginning, isAdoptable: () => boolean) {
  const all = new Set<TenantProcess>();
  const byTenant = new Map<string, TenantProcess>();
  let unassigned: TenantProcess | undefined;
  let retired = 0;
  const isAsleep = () => all.size > 0 && [...all].every((each) => each.isAsleep());
  const look = createRestWatch(options, isAsleep);
  /** Removes tenants that have no process and no recent failure. */
  const tidy = (): void => {
    for (const each of [...all].filter((candidate) => candidate !== unassigned && candidate.isForgettable())) {
      retired += each.health().restarts;
      all.delete(each);
      if (each.tenant !== undefined) byTenant.delete(each.tenant);
    }
  };
  const create = (): TenantProcess => {
    tidy();
    const made = createTenantProcess(options, beginning, look);
    all.add(made);
    return made;
  };
  return {
    all: () => [...all],
    /** Restarts of processes that were removed. */
    retired: () => retired,
    isAsleep,
    of(tenant: string): TenantProcess {
      const own = byTenant.get(tenant);
      if (own) return own;
      const adopted = isAdoptable() ? unassigned : undefined;
      if (adopted) unassigned = undefined;
      const made = adopted ?? create();
      made.tenant = tenant;
      byTenant.set(tenant, made);
      return made;
    },
    /** The process that has received no data of a tenant. */
    ofNone: () => (unassigned ??= create()),
  };
}

/** Returns a function that reports when all processes have fallen asleep, and when the first one is woken. */
function createRestWatch({ plugin, log, onRest }: IsolateOptions, isAsleep: () => boolean): () => void {
  let wasAsleep = false;
  return () => {
    if (isAsleep() === wasAsleep) return;
    wasAsleep = !wasAsleep;
    log.info({ plugin }, wasAsleep ? 'a plugin sleeps until it is called' : 'a plugin was woken by a call');
    onRest();
  };
}

function stopping({ name }: CallRequest): Error {
  return failure('TOOL_FAILED', { tool: name, problem: 'its plugin was closed: it was disabled or loaded again, or the worker is stopping' });
}

/** Processes that sleep have already run `unload`. */
async function unloadAll(all: TenantProcess[], request: CallRequest): Promise<Json> {
  const outcomes = await Promise.allSettled(all.map((each) => each.callIfRunning(request)));
  await Promise.all(all.map((each) => each.gone()));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
  return null;
}

/** Processes that sleep are listed only where no other exists. */
function healthOf(all: TenantProcess[], retired: number): IsolateHealth[] {
  const each = all.map((one) => one.health());
  const awake = each.filter(({ state }) => state !== 'asleep');
  const asleep = each.filter(({ state }) => state === 'asleep').reduce((sum, { restarts }) => sum + restarts, retired);
  const [first = { state: 'asleep', restarts: 0 }, ...rest] = awake;
  return [{ ...first, restarts: first.restarts + asleep }, ...rest];
}

function isHook({ target }: CallRequest, name: string): boolean {
  return 'hook' in target && target.hook === name;
}

/** The call of `load` that brings a new process to the state of this one. */
function loadingAfter(request: CallRequest, loading: CallRequest | undefined): CallRequest | undefined {
  if (isHook(request, 'load')) return request;
  const [scope, config = {}] = request.args;
  if (!isHook(request, 'updateConfig') || scope !== 'self' || !loading) return loading;
  return { ...loading, args: [{ ...(loading.args[0] as JsonObject), config }] };
}
