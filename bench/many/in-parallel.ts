/** Callers at the same time. */
const CALLERS = 20;

/** Does so many pieces of work, twenty at a time, and gives their results in order. */
export async function inParallel<T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await act(index);
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  return results;
}
