/** Finds the current call for code that receives no context. */
export interface CurrentCall<Context> {
  run<Result>(context: Context, work: () => Promise<Result>): Promise<Result>;
  /** @throws an Error that names what was used outside of a call. */
  get(what: string): Context;
}

interface AsyncStorage<Context> {
  run<Result>(context: Context, work: () => Result): Result;
  getStore(): Context | undefined;
}
type Hooks = { AsyncLocalStorage: new <Context>() => AsyncStorage<Context> };

/**
 * In the worker's own process, calls of many conversations run concurrently, and Node distinguishes them. A compartment has no Node, but it serves one
 * conversation and one user, so any call under way is valid there.
 */
export function createCurrentCall<Context>(): CurrentCall<Context> {
  const node = (globalThis as { process?: { getBuiltinModule?: (name: string) => Hooks } }).process;
  const storage = node?.getBuiltinModule ? new (node.getBuiltinModule('node:async_hooks').AsyncLocalStorage)<Context>() : undefined;
  const active: Context[] = [];
  return {
    async run(context, work) {
      if (storage) return storage.run(context, work);
      active.push(context);
      try {
        return await work();
      } finally {
        active.splice(active.indexOf(context), 1);
      }
    },
    get(what) {
      const context = storage ? storage.getStore() : active.at(-1);
      if (context === undefined) throw new Error(`${what} works only while a method of the plugin runs`);
      return context;
    },
  };
}
