/** Knows for code that is handed no context which call it belongs to. */
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
 * In the worker's own process calls of many conversations run side by side, and Node tells them apart. A compartment has no Node, but is that of one
 * conversation and one user: there any call under way will do.
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
