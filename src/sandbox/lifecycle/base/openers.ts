/** Who opens which sandboxes in this process at the moment: one that is refused must not take away what another of them gets. */
export interface Openers {
  enter(sandboxId: string): Opener;
}
interface Opener {
  succeed(): void;
  /** True for the last of those at once, when none of them has got the sandbox. */
  fail(): boolean;
}

export function createOpeners(): Openers {
  const groups = new Map<string, { count: number; hasSucceeded: boolean }>();
  return {
    enter(sandboxId) {
      const group = groups.get(sandboxId) ?? { count: 0, hasSucceeded: false };
      groups.set(sandboxId, group);
      group.count += 1;
      const leave = () => {
        group.count -= 1;
        if (group.count === 0) groups.delete(sandboxId);
      };
      return {
        succeed() {
          group.hasSucceeded = true;
          leave();
        },
        fail() {
          leave();
          return group.count === 0 && !group.hasSucceeded;
        },
      };
    },
  };
}
