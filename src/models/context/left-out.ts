import type { Compaction, LeftOut } from '../../contracts/transcript.ts';

/** What the compactions leave out together, as they were before an entry, or now. The newest one counts where several say something about the same. */
export function leftOutBy(compactions: readonly Compaction[], beforeSeq = Infinity): LeftOut {
  return compactions.filter((compaction) => holds(compaction, beforeSeq)).reduce<LeftOut>((sum, { leftOut }) => ({ ...sum, ...leftOut }), {});
}

function holds({ afterSeq, undoneAfterSeq }: Compaction, beforeSeq: number): boolean {
  return afterSeq < beforeSeq && (undoneAfterSeq === undefined || (beforeSeq !== Infinity && undoneAfterSeq >= beforeSeq));
}

/** The newest entry that was there at the last change of what is left out; 0 without one. */
export function lastChange(compactions: readonly Compaction[]): number {
  return Math.max(0, ...compactions.map(({ afterSeq, undoneAfterSeq = 0 }) => Math.max(afterSeq, undoneAfterSeq)));
}

/** Whether the newest change was that a compaction was undone. */
export function wasUndone(compactions: readonly Compaction[]): boolean {
  const newest = compactions.at(-1);
  return newest !== undefined && newest.undoneAfterSeq !== undefined;
}
