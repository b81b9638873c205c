// oxlint-disable-next-line import/no-unassigned-import -- it has to be done before anything else is evaluated
import './lockdown.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Json, JsonObject } from '../../../contracts/json.ts';
import { excessOf } from '../../../contracts/foreign-json.ts';
import { createLineReader } from '../../../common/lines/line-reader.ts';
import { MAX_LINE_BYTES, MAX_TOLD, type CallTarget, type Description, type FromGuest, type ToGuest } from '../guest-protocol.ts';
import { createCompartments, type Compartments, type Realm } from './compartments.ts';
import { createCallContext, fetchThrough, type Line } from './call-context.ts';
import { failureOf } from './failure-of.ts';
import type { Outside } from './globals.ts';
import { readPipe, writePipe } from './pipes.ts';
import { resultText } from './result-text.ts';
import { logTextOf } from './log-text-of.ts';
import { abortGuestSignal, GuestAbortController } from './web/abort.ts';

/** The program of a plugin's process. The fence isolates it from the machine; the program keeps conversations apart. */

type Callable = (...args: unknown[]) => unknown;
type Call = Extract<ToGuest, { type: 'call' }>;

interface Flow {
  readonly call: number;
  readonly context: object | undefined;
}

const controllers = new Map<number, GuestAbortController>();
const asked = new Map<number, { resolve(value: Json): void; reject(error: Error): void }>();
/**
 * The call to which a piece of asynchronous work belongs: tools of one conversation may run concurrently. After its first use, every promise of the
 * process costs more, so it is used only where something depends on it.
 */
const flow = new AsyncLocalStorage<Flow>();
/** The flows that this program made. The platform keeps the current flow in properties of promises, where code can read and replace it. */
const flows = new WeakSet<Flow>();
let lastAsk = 0;
let compartments: Compartments | undefined;
/** The compartment that belongs to no conversation. */
let home: (() => Realm) | undefined;
/** The arguments of `load`; it runs again in each compartment that is made later. */
let host: Json[] | undefined;
/** Hooks that change the state of the code: they run in every compartment. */
const EVERYWHERE = new Set(['load', 'unload', 'updateConfig']);

/** The id of a call that was read and has run no code yet. */
let notSaid: number | undefined;

/** Reports a call to the worker before any of its code runs. A call that was not reported goes to another process, should this one end. */
function sayBegun(): void {
  if (notSaid !== undefined) writePipe(`{"type":"begun","id":${notSaid}}\n`);
  notSaid = undefined;
}

function send(message: FromGuest): void {
  writePipe(`${JSON.stringify(message)}\n`);
}

function lineOf(call: number): Line {
  return {
    ask(what, args) {
      if (!controllers.has(call)) return Promise.reject(new Error(`${what} was used after its call had ended`));
      // A long text alone is too long: it is refused before there are copies of it, for which the process may lack the memory.
      const length = lengthOfTexts(args);
      if (length > MAX_LINE_BYTES) {
        return Promise.reject(new Error(`${what} was given more than ${length} characters as JSON; at most ${MAX_LINE_BYTES} are allowed`));
      }
      lastAsk += 1;
      const id = lastAsk;
      const question = JSON.stringify({ type: 'ask', id, call, what, args });
      // The worker ends a process that sends a longer line, or one that takes long to parse.
      const excess = excessOf(question);
      if (excess !== undefined) return Promise.reject(new Error(`${what} was given a value that ${excess}`));
      const size = Buffer.byteLength(question);
      if (size > MAX_LINE_BYTES) return Promise.reject(new Error(`${what} was given ${size} bytes as JSON; at most ${MAX_LINE_BYTES} are allowed`));
      return new Promise((resolve, reject) => {
        asked.set(id, { resolve, reject });
        writePipe(`${question}\n`);
      });
    },
    // The worker cuts off the rest as well.
    tell: (what, text) => send({ type: 'tell', call, what, text: text.slice(0, MAX_TOLD) }),
  };
}

/** Characters of the texts in the arguments of a question: those that are arguments, and fields of arguments. */
function lengthOfTexts(args: unknown): number {
  const parts = Object.values(args ?? {}).flatMap((arg: unknown) =>
    typeof arg === 'object' && arg !== null && !ArrayBuffer.isView(arg) ? Object.values(arg) : [arg],
  );
  return parts.reduce((sum: number, part: unknown) => sum + (typeof part === 'string' ? part.length : 0), 0);
}

function flowOf(call: number, context: object | undefined): Flow {
  const made = Object.freeze({ call, context });
  flows.add(made);
  return made;
}

function currentFlow(): Flow | undefined {
  const found = flow.getStore();
  return found && flows.has(found) ? found : undefined;
}

/** Global functions act for the call that uses them. Where that call is not known, they act for the call that began last in their compartment. */
function outsideOf(realm: Realm): Outside {
  sayBegun();
  const caller = () => currentFlow()?.call ?? realm.active.at(-1);
  const line = (what: string): Line => {
    const call = caller();
    if (call === undefined) throw new Error(`${what} works only while a tool of this conversation runs`);
    return lineOf(call);
  };
  return {
    fetch: async (url, init) => fetchThrough(line('fetch').ask, url, init),
    readFile: async (path) => line('readFile').ask('readFile', [path]),
    log: (what, text) => lineOf(caller() ?? 0).tell(what, text),
  };
}

async function runCall({ id, target, conversation, grants, args, facts }: Call): Promise<Json> {
  if (!compartments) throw new Error('no plugin is loaded');
  notSaid = id;
  if ('hook' in target && EVERYWHERE.has(target.hook)) {
    sayBegun();
    return runEverywhere(compartments, target, args);
  }
  const controller = new GuestAbortController();
  controllers.set(id, controller);
  try {
    const realm = compartments.realmFor(conversation, grants);
    // Where the compartment was just made, the call was reported, because code of the plugin has already run.
    const isSaid = notSaid === undefined;
    notSaid = undefined;
    realm.active.push(id);
    try {
      await realm.loaded;
      if (!isSaid) notSaid = id;
      sayBegun();
      const [self, run] = functionOf(realm.plugin, target);
      const context = facts ? createCallContext(facts, controller.signal, lineOf(id)) : undefined;
      const given = context ? [...args, context] : args;
      const work = () => run.apply(self, given);
      const asks = grants.network || grants.files || typeof realm.plugin['attach'] === 'function';
      return ((await (asks ? flow.run(flowOf(id, context), work) : work())) ?? null) as Json;
    } finally {
      realm.active.splice(realm.active.indexOf(id), 1);
    }
  } finally {
    controllers.delete(id);
  }
}

/** Runs a hook in every compartment. The answer is that of the first one, because the code is the same in all. */
async function runEverywhere({ all }: Compartments, target: { hook: string }, args: Json[]): Promise<Json> {
  // It must run in at least one compartment, so that the plugin can refuse. A plugin that was never loaded has nothing to unload.
  if (all().length === 0 && target.hook !== 'unload') await home?.().loaded;
  const first = await runInAll(all, target, args);
  if (target.hook === 'load') host = args;
  const [scope, config = {}] = args;
  // A compartment that is made later starts with the current configuration.
  if (target.hook === 'updateConfig' && scope === 'self' && host) host = [{ ...(host[0] as JsonObject), config }];
  return first;
}

async function runInAll(all: Compartments['all'], target: { hook: string }, args: Json[]): Promise<Json> {
  let first: Json | undefined;
  const done = new Set<Realm>();
  const next = (): Realm | undefined => all().find((realm) => !done.has(realm));
  // One that is made meanwhile begins with the former state, so it has its turn as well.
  for (let realm = next(); realm; realm = next()) {
    done.add(realm);
    if (!(await hasLoaded(realm))) continue;
    const value = await runHook(realm, target, args);
    first ??= value;
  }
  return first ?? null;
}

/** A compartment that could not load is removed, and its calls report that. */
function hasLoaded({ loaded }: Realm): Promise<boolean> {
  return loaded.then(
    () => true,
    () => false,
  );
}

/** Gives the plugin a function that returns the context of the current call. */
function attach({ plugin }: Realm): void {
  const attachTo = plugin['attach'];
  if (typeof attachTo === 'function') attachTo.call(plugin, () => currentFlow()?.context);
}

async function runHook(realm: Realm, target: { hook: string }, args: Json[]): Promise<Json> {
  const [self, run] = functionOf(realm.plugin, target);
  const line = lineOf(0);
  const logger = { info: (text: unknown) => line.tell('info', logTextOf(text)), warn: (text: unknown) => line.tell('warn', logTextOf(text)) };
  realm.hooks += 1;
  try {
    return ((await run.apply(self, target.hook === 'load' ? [{ ...(args[0] as JsonObject), logger }] : args)) ?? null) as Json;
  } finally {
    realm.hooks -= 1;
  }
}

/** Runs `load` in a compartment that was made after the plugin was loaded, when a conversation first needed it. */
async function loadRealm(realm: Realm): Promise<void> {
  if (host) await runHook(realm, { hook: 'load' }, host);
}

function functionOf(plugin: Record<string, unknown>, target: CallTarget): [self: object, run: Callable] {
  const tools = plugin['tools'] as Record<string, unknown>[];
  const self = 'tool' in target ? tools.find((tool) => tool['id'] === target.tool) : plugin;
  const run = self?.['tool' in target ? 'execute' : target.hook];
  if (!self || typeof run !== 'function') throw new Error('it has no such function');
  return [self, run as Callable];
}

function descriptionOf(plugin: Record<string, unknown>): Description {
  return {
    plugin: JSON.parse(JSON.stringify(plugin)) as JsonObject,
    hooks: Object.keys(plugin).filter((name) => typeof plugin[name] === 'function'),
  };
}

async function answer(id: number, work: () => Json | Promise<Json>): Promise<void> {
  try {
    const line = `{"type":"done","id":${id},"value":${resultText(await work())}}`;
    const size = Buffer.byteLength(line);
    if (size > MAX_LINE_BYTES) throw new Error(`its result has ${size} bytes as JSON; at most ${MAX_LINE_BYTES} are allowed`);
    writePipe(`${line}\n`);
  } catch (error) {
    send(failureOf(id, error));
  }
}

function handle(message: ToGuest): void {
  switch (message.type) {
    case 'load': {
      const { id, code, grants, describe } = message;
      host = message.host ?? undefined;
      void answer(id, () => {
        const made = createCompartments(code, { outsideOf, attach, load: loadRealm });
        compartments = made;
        home = () => made.realmFor('', grants);
        return describe ? (descriptionOf(home().plugin) as unknown as Json) : null;
      });
      return;
    }
    case 'call':
      void answer(message.id, () => runCall(message));
      return;
    case 'cancel': {
      const controller = controllers.get(message.id);
      if (controller) abortGuestSignal(controller.signal);
      return;
    }
    case 'ping':
      send({ type: 'pong', id: message.id });
      return;
    default: {
      const question = asked.get(message.id);
      asked.delete(message.id);
      if (message.type === 'answer') question?.resolve(message.value);
      else question?.reject(new Error(message.message));
    }
  }
}

const log = (error: unknown) => lineOf(0).tell('warn', `an unhandled error: ${logTextOf(error)}`);
process.on('unhandledRejection', log);
process.on('uncaughtException', log);
const toLines = createLineReader({ maxBytes: 4 * MAX_LINE_BYTES, onLine: (line) => handle(JSON.parse(line) as ToGuest), onTooLong: () => process.exit(1) });
// The end of the input means that the worker has ended or has closed the pipe.
readPipe(toLines, () => process.exit());
send({ type: 'ready' });
