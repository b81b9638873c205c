const HOUR_MS = 3_600_000;
/** Names that are remembered before old ones are looked for. */
const REMEMBERED = 1_000;

export interface Allowance {
  /** Whether a name may take so many more. What has the same id is taken once. */
  take(name: string, id: string, count: number): boolean;
}

interface Taken {
  count: number;
  at: number;
}

/** How much each name may take within an hour, as far as this process knows. */
export function createAllowance(most: number, now: () => number = Date.now): Allowance {
  const taken = new Map<string, Map<string, Taken>>();
  const current = (name: string, since: number) => new Map([...(taken.get(name) ?? [])].filter(([, { at }]) => at > since));
  return {
    take(name, id, count) {
      const at = now();
      if (taken.size > REMEMBERED) for (const known of taken.keys()) if (current(known, at - HOUR_MS).size === 0) taken.delete(known);
      const ids = current(name, at - HOUR_MS);
      if (!ids.has(id)) {
        const before = [...ids.values()].reduce((sum, each) => sum + each.count, 0);
        if (before + count > most) return false;
        ids.set(id, { count, at });
      }
      taken.set(name, ids);
      return true;
    },
  };
}
