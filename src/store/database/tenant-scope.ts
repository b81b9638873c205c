import { AsyncLocalStorage } from 'node:async_hooks';

const scope = new AsyncLocalStorage<string | undefined>();

/** Does work whose queries see only this tenant's rows, with everything that it awaits; those of all tenants when there is none. */
export function asTenant<Result>(tenantId: string | undefined, work: () => Result): Result {
  return scope.run(tenantId, work);
}

/** Does work for all tenants that was begun while one of them was served, such as what is read once for all readers of a process. */
export function forAllTenants<Result>(work: () => Result): Result {
  return scope.run(undefined, work);
}

/** The tenant whose rows alone the queries of the running work see. */
export function tenantInForce(): string | undefined {
  return scope.getStore();
}
