import { createSlots, type Slots } from '../../common/slots.ts';
import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { Logger } from '../../platform/log.ts';
import type { ToolContext } from '../api/tool-context.ts';
import { createCalls, type Calls } from './calls.ts';
import { explain } from './explain.ts';
import { useCapability, type CallUnderWay } from './capabilities.ts';
import type { PluginProcess } from './plugin-process.ts';
import { createLogLimit } from '../api/log-limit.ts';
import { createPromptAnswers } from './prompt-answers.ts';
import { MAX_TOLD, type CallFacts, type CallTarget, type FromGuest, type Grants, type ToGuest } from './guest-protocol.ts';
import { createWatchdog } from './watchdog.ts';

export interface CallRequest {
  /** Full id, for messages. */
  name: string;
  target: CallTarget;
  conversation: string;
  grants: Grants;
  args: Json[];
  timeoutMs: number;
  /** Its permissions are the capabilities of the call. A hook of a conversation has the store only; other hooks have no caller. */
  caller?: CallUnderWay;
}

/** A process that has loaded a plugin's code. */
export interface LoadedProcess {
  process: PluginProcess;
  /** Returns the plugin's description. */
  load(code: string, grants: Grants): Promise<Json>;
  /** The same for code that was described before. The first call evaluates it, with `host` for the plugin's own `load` where that was called. */
  loadAgain(code: string, grants: Grants, host: Json[] | undefined): Promise<void>;
  call(request: CallRequest): Promise<Json>;
}

export interface ProcessLimits {
  /** A process that does not answer a ping for this time is ended. */
  unresponsiveMs: number;
  /** The time that a call has to end by itself after it was cancelled. */
  graceMs: number;
}

const LOAD_TIMEOUT_MS = 10_000;
const MAX_ASKS = 256;
/** Characters of the requests that are under way. */
const MAX_ASKED = 64 * 1024 * 1024;
/** Requests with whole files, which lie in the memory of the worker. A call does a few at a time, and the others wait for these. */
const WITH_FILES = new Set(['files.get', 'files.put', 'readFile']);
const FILES_AT_ONCE = 4;

/** Exchanges messages with a process about its calls. When the process ends, every call under way fails with the reason. */
export function speakWith(process: PluginProcess, { plugin, limits, log }: { plugin: string; limits: ProcessLimits; log: Logger }): LoadedProcess {
  const calls = createCalls(process, limits.graceMs);
  const watchdog = createWatchdog(process, calls, limits);
  const serve = createServant(process, calls);
  const answers = createPromptAnswers();
  const mayWrite = createLogLimit(log, { plugin });
  process.listen((message, length) => {
    watchdog.listen(message);
    if (message.type === 'begun') return calls.hasBegun(message.id);
    if (message.type === 'done' || message.type === 'failed') answers.answered();
    if (message.type === 'done') calls.finish(message.id, () => message.value);
    if (message.type === 'failed') calls.finish(message.id, (name) => errorOf(name, message, 'compartment'));
    if (message.type === 'ask') {
      // A call that asks has begun, whatever else the process reports.
      calls.hasBegun(message.call);
      void serve(message, length);
    }
    if (message.type === 'tell')
      write(message, calls, (line) => void (mayWrite(line.length) && log[message.what === 'warn' ? 'warn' : 'info']({ plugin }, line)));
  });
  const load = async (what: Omit<Extract<ToGuest, { type: 'load' }>, 'type' | 'id'>): Promise<Json> => {
    const { id, answer } = calls.begin(plugin);
    process.send({ type: 'load', id, ...what });
    const timer = setTimeout(() => process.kill(`it took longer than ${LOAD_TIMEOUT_MS} ms to load`), LOAD_TIMEOUT_MS);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
      watchdog.start();
    }
  };
  return {
    process,
    load: (code, grants) => load({ code, grants, describe: true, host: null }),
    async loadAgain(code, grants, host = []) {
      await load({ code, grants, describe: false, host: host.length > 0 ? host : null });
    },
    async call({ name, target, conversation, grants, args, timeoutMs, caller }) {
      const signal = caller?.context.signal;
      signal?.throwIfAborted();
      const { id, answer } = calls.begin(name, caller);
      process.send({ type: 'call', id, target, conversation, grants, args, facts: caller ? factsOf(caller.context) : null });
      answers.asked();
      const overdue = () => calls.giveUp(id, failure('TOOL_FAILED', { tool: name, problem: `it took longer than ${timeoutMs} ms and was aborted` }));
      const timer = setTimeout(overdue, timeoutMs);
      const abort = () => calls.giveUp(id, signal?.reason as Error);
      signal?.addEventListener('abort', abort, { once: true });
      try {
        return await answer;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      }
    },
  };
}

/** Answers the requests of calls. */
function createServant(process: PluginProcess, calls: Calls): (question: Extract<FromGuest, { type: 'ask' }>, length: number) => Promise<void> {
  let asks = 0;
  let asked = 0;
  const files = new WeakMap<CallUnderWay, Slots>();
  const slotOf = async (what: string, caller: CallUnderWay): Promise<(() => void) | undefined> => {
    if (!WITH_FILES.has(what)) return undefined;
    const slots = files.get(caller) ?? createSlots(FILES_AT_ONCE);
    files.set(caller, slots);
    return slots.take(caller.context.signal);
  };
  return async ({ id, call, what, args }, length) => {
    asks += 1;
    asked += length;
    let giveBack: (() => void) | undefined;
    try {
      const caller = callerOf(calls, call, what);
      if (asks > MAX_ASKS) throw new Error(`more than ${MAX_ASKS} requests to the worker at a time`);
      if (asked > MAX_ASKED) throw new Error(`more than ${MAX_ASKED} characters of requests to the worker at a time`);
      giveBack = await slotOf(what, caller);
      // It may have ended while it waited.
      if (giveBack) callerOf(calls, call, what);
      process.send({ type: 'answer', id, value: await useCapability(what, args, caller) });
    } catch (error) {
      process.send({ type: 'refuse', id, message: (error as Partial<Error> | undefined)?.message ?? String(error) });
    } finally {
      giveBack?.();
      asks -= 1;
      asked -= length;
    }
  };
}

function callerOf(calls: Calls, call: number, what: string): CallUnderWay {
  const caller = calls.callerOf(call);
  if (caller) return caller;
  throw new Error(`${what.slice(0, 40)} was used by a call that is not running`);
}

function write({ call, what, text }: Extract<FromGuest, { type: 'tell' }>, calls: Calls, writeForPlugin: (line: string) => void): void {
  const context = calls.callerOf(call)?.context;
  const line = text.slice(0, MAX_TOLD);
  if (what === 'heartbeat') context?.heartbeat(line.slice(0, 200));
  // A plugin's own function has no call to log for.
  else if (context && context.callId !== '') context.logger[what](line);
  else writeForPlugin(line);
}

/** What a call receives about itself. */
export function factsOf({ conversationId, userId, tenantId, agentId, turnId, callId, env, config }: ToolContext): CallFacts {
  return { conversationId, userId, tenantId, agentId, turnId, callId, env: { ...env }, config };
}

export function errorOf(name: string, { message, problems }: Extract<FromGuest, { type: 'failed' }>, where: 'compartment' | 'sandbox'): Error {
  return problems === undefined ? new Error(explain(message, where)) : failure('TOOL_ARGUMENTS_INVALID', { tool: name, problems });
}
