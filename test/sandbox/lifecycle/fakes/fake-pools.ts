import type { Pools } from '../../../../src/store/pools.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';

interface Owner {
  ownerId: string;
  key: string;
  size: number;
  untilMs: number;
}

/** Pools of one host, in the rows of a fake database. */
export function fakePools(rows: Map<string, SandboxRow>, drawFence: () => number): Pools {
  let owners: Owner[] = [];
  const unclaimed = (key?: string) =>
    [...rows.values()]
      .filter(({ state, pool }) => pool?.slot !== undefined && (key === undefined || pool.key === key) && (state === 'creating' || state === 'warm'))
      .toSorted((one, other) => one.pool!.slot! - other.pool!.slot!);
  return {
    own: async ({ ownerId, key, size, forMs }) => {
      owners = owners.filter((one) => one.ownerId !== ownerId || one.key !== key);
      owners.push({ ownerId, key, size, untilMs: Date.now() + forMs });
    },
    leave: async (ownerId, { butFor }) => {
      owners = owners.filter((one) => one.ownerId !== ownerId || butFor.includes(one.key));
    },
    add: async (row, { key, slot }) => {
      if (unclaimed(key).some(({ pool }) => pool?.slot === slot)) return;
      const made = {
        ...row,
        tenantId: '',
        state: 'creating' as const,
        generation: 1,
        fence: drawFence(),
        lastUsedAt: '',
        idleMs: 0,
        createdAt: '',
        pool: { key, slot },
      };
      rows.set(row.sandboxId, made);
    },
    list: async (_hostId, key) => unclaimed(key),
    claim: async ({ key, preferred }, { sandboxId, conversationId, tenantId, options }) => {
      if (rows.has(sandboxId) || [...rows.values()].some((row) => row.conversationId === conversationId)) return undefined;
      const warm = unclaimed(key).filter(({ state }) => state === 'warm');
      const found = warm.find((row) => preferred.includes(row.sandboxId)) ?? warm[0];
      if (found === undefined) return undefined;
      const claimed = {
        ...found,
        tenantId,
        options,
        state: 'creating' as const,
        pool: { key },
        generation: found.generation + 1,
        ...(conversationId !== undefined && { conversationId }),
      };
      rows.set(found.sandboxId, claimed);
      return claimed;
    },
    unclaimed: async () => unclaimed().toReversed(),
    retire: async (sandboxId) => {
      const row = unclaimed().find((one) => one.sandboxId === sandboxId);
      if (row !== undefined) rows.set(sandboxId, { ...row, state: 'destroyed', generation: row.generation + 1 });
      return row !== undefined;
    },
    unowned: async () =>
      unclaimed().filter(
        ({ pool }) => pool!.slot! > Math.max(0, ...owners.filter(({ key, untilMs }) => key === pool!.key && untilMs > Date.now()).map(({ size }) => size)),
      ),
    forget: async () => undefined,
  };
}
