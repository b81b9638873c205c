/** Finds words that are almost the same. Our own, since `definePlugin` uses it, and bundles of plugins have no package but zod. */
const MAX_DISTANCE = 3;

/** The candidate that differs least from a word, if it is near enough to be what was meant. */
export function nearest(word: string, candidates: string[], mostDifferent = MAX_DISTANCE): string | undefined {
  // Words that differ more in length differ more than that, and need not be compared.
  const similar = candidates.filter((candidate) => Math.abs(candidate.length - word.length) <= MAX_DISTANCE);
  const ranked = similar.map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }));
  const best = ranked.toSorted((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.min(mostDifferent, word.length - 1) ? best.candidate : undefined;
}

// Not a package: definePlugin uses it, and what plugins import is bundled with them from their own packages and this package's sources alone.
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, left] of a.split('').entries()) {
    const current = [row + 1];
    for (const [column, right] of b.split('').entries()) {
      const replaced = (previous[column] ?? 0) + (left === right ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
