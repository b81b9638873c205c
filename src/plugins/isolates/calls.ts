import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { Caller } from './capabilities.ts';
import type { PluginProcess } from './plugin-process.ts';

/** A call that a process works on. */
interface Pending {
  name: string;
  caller: Caller | undefined;
  resolve: (value: Json) => void;
  reject: (error: Error) => void;
  /** Its caller has its answer; the process still works on it. */
  given: boolean;
  /** The process has read it. Until then it can have done nothing: what it does comes later in the same pipe. */
  begun: boolean;
}

/** The calls under way in one process. */
export interface Calls {
  begin(name: string, caller?: Caller): { id: number; answer: Promise<Json> };
  /** The process says that it has read a call. */
  hasBegun(id: number): void;
  /** Ends a call with what the process said. An id that was never given out, or twice the same, is for nobody. */
  finish(id: number, outcome: (name: string) => Json | Error): void;
  /** Answers the caller now and cancels. What is still at work after the grace is ended with its process. */
  giveUp(id: number, error: Error): void;
  /** Who asks, when the call is under way and may still use what it was granted. */
  callerOf(id: number): Caller | undefined;
  /** How many there have been, and how many the process still works on. */
  begun(): number;
  underWay(): number;
}

/** Errors of calls that their process never read: another may be given them. */
const unread = new WeakSet<object>();

export function wasNeverRead(error: unknown): boolean {
  return error instanceof Error && unread.has(error);
}

export function createCalls(process: PluginProcess, graceMs: number): Calls {
  const pending = new Map<number, Pending>();
  let last = 0;
  let ended: string | undefined;
  const fail = ({ name, begun, reject }: Pending, why: string): void => {
    const error = failure('PLUGIN_ENDED', { tool: name, why });
    if (!begun) unread.add(error);
    reject(error);
  };
  const failAll = (why: string): void => {
    ended = why;
    for (const call of pending.values()) fail(call, why);
    pending.clear();
  };
  void process.ended.then(failAll);
  return {
    begin(name, caller) {
      last += 1;
      const id = last;
      const answer = new Promise<Json>((resolve, reject) => {
        const call = { name, caller, resolve, reject, given: false, begun: false };
        if (ended === undefined) pending.set(id, call);
        else fail(call, ended);
      });
      return { id, answer };
    },
    hasBegun(id) {
      const call = pending.get(id);
      if (call) call.begun = true;
    },
    finish(id, outcome) {
      const call = pending.get(id);
      pending.delete(id);
      if (!call || call.given) return;
      const result = outcome(call.name);
      if (result instanceof Error) call.reject(result);
      else call.resolve(result);
    },
    giveUp(id, error) {
      const call = pending.get(id);
      if (!call || call.given) return;
      call.given = true;
      call.reject(error);
      process.send({ type: 'cancel', id });
      setTimeout(() => {
        if (pending.has(id)) process.kill(`${call.name} went on for ${graceMs} ms after it was cancelled`);
      }, graceMs).unref();
    },
    callerOf(id) {
      const call = pending.get(id);
      return call?.given === false ? call.caller : undefined;
    },
    begun: () => last,
    underWay: () => pending.size,
  };
}
