/** The steps by which processes take a lock, and take over the one of a process that has died. */

/** What a lock is made of. Every call is one step: other processes can do theirs between two of them. */
export interface LockGround {
  /** Makes a lock with its text in one step. False when there is one already. */
  make: (path: string, text: string) => Promise<boolean>;
  /** Undefined when there is no such lock. */
  read: (path: string) => Promise<string | undefined>;
  remove: (path: string) => Promise<void>;
  /** Whether the process that made the lock with this text has ended. */
  isAbandoned: (path: string, text: string) => Promise<boolean>;
}

/**
 * Tries once to get a lock. `mine` names this process and differs each time.
 *
 * Of two processes that see a dead holder, the slower one must not remove the lock that the faster one has made since. So a lock is removed only by its living
 * holder, or by the process that holds a second lock, the right to remove the first, and that reads the text of the dead holder again under it. From then on
 * nothing can change the first lock: its holder is dead, its text never returns, and no other process has the right. The right of a process that has died is itself
 * a lock, which is taken over in the same way.
 */
export async function tryLock(ground: LockGround, path: string, mine: string): Promise<boolean> {
  if (await ground.make(path, mine)) return true;
  const holder = await ground.read(path);
  if (holder === undefined || !(await ground.isAbandoned(path, holder))) return false;
  const right = `${path}.takeover`;
  if (!(await tryLock(ground, right, mine))) return false;
  try {
    if ((await ground.read(path)) === holder) await ground.remove(path);
  } finally {
    await ground.remove(right);
  }
  return await ground.make(path, mine);
}
