/** Rejects with `late()` when the promise takes too long. The promise goes on; its own rejection is then of no interest. */
export async function inTime<T>(promise: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), limitMs);
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
