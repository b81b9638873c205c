/** The calls of this process that open each sandbox now. An open that fails must not remove the sandbox while another open of it may succeed. */
export interface Openers {
  enter(sandboxId: string): Opener;
}
interface Opener {
  succeed(): void;
  /** True for the last of several concurrent opens, when none of them succeeded. */
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
