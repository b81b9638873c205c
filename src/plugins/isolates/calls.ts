import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import { noteAmongOthers } from '../api/among-others.ts';
import type { CallUnderWay } from './capabilities.ts';
import type { PluginProcess } from './plugin-process.ts';

/** A call that a process works on. */
interface Pending {
  name: string;
  caller: CallUnderWay | undefined;
  resolve: (value: Json) => void;
  reject: (error: Error) => void;
  /** The caller has its answer; the process still works on the call. */
  given: boolean;
  /** The process has read the call. Until then the call has had no effect: everything that it does comes later in the same pipe. */
  begun: boolean;
}

/** The calls under way in one process. */
export interface Calls {
  begin(name: string, caller?: CallUnderWay): { id: number; answer: Promise<Json> };
  /** The process reports that it has read a call. */
  hasBegun(id: number): void;
  /** Ends a call with what the process reported. An unknown id, or one that has ended, is ignored. */
  finish(id: number, outcome: (name: string) => Json | Error): void;
  /** Answers the caller now and cancels the call. If the call still runs after the grace period, its process is ended. */
  giveUp(id: number, error: Error): void;
  /** The caller, while the call is under way and may still use its permissions. */
  callerOf(id: number): CallUnderWay | undefined;
  /** The number of calls until now, and the number that the process still works on. */
  begun(): number;
  underWay(): number;
}

/** Errors of calls that their process never read: such a call may go to another process. */
const unread = new WeakSet<object>();

export function wasNeverRead(error: unknown): boolean {
  return error instanceof Error && unread.has(error);
}

export function createCalls(process: PluginProcess, graceMs: number): Calls {
  const pending = new Map<number, Pending>();
  let last = 0;
  let ofCallers = 0;
  let ended: string | undefined;
  const fail = ({ name, begun, reject }: Pending, why: string): void => {
    const error = failure('PLUGIN_ENDED', { tool: name, why });
    if (!begun) unread.add(error);
    if (ofCallers > 1) noteAmongOthers(error);
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
      if (caller) ofCallers += 1;
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
