/** Errors of calls whose process had worked on others as well when it ended: any of these may be the cause, also one that has its answer. */
const amongOthers = new WeakSet<object>();

export function noteAmongOthers(error: Error): void {
  amongOthers.add(error);
}

export function wasAmongOthers(error: Error): boolean {
  return amongOthers.has(error);
}
