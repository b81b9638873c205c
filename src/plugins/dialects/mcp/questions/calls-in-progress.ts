import { AsyncLocalStorage } from 'node:async_hooks';

/** The calls that a connection carries. */
export interface Calls<Call> {
  during<Result>(call: Call, work: () => Promise<Result>): Promise<Result>;
  /**
   * The call to which a request of the server belongs. One that came with the answer to a call belongs to that call, and to none when that call is over. One that
   * came by itself, as all from programs do, belongs to the only call in progress; undefined when there is none or more than one, because it could be shown to the
   * wrong person.
   */
  current(): Call | undefined;
}

export function createCalls<Call extends object>(): Calls<Call> {
  const open = new Set<Call>();
  // What reads the answer to a request was started by that request, and runs in its context.
  const context = new AsyncLocalStorage<Call>();
  return {
    async during(call, work) {
      open.add(call);
      try {
        return await context.run(call, work);
      } finally {
        open.delete(call);
      }
    },
    current() {
      const call = context.getStore();
      // One that is over may be of another tenant than the only one in progress.
      if (call) return open.has(call) ? call : undefined;
      const [only, ...others] = open;
      return others.length === 0 ? only : undefined;
    },
  };
}
