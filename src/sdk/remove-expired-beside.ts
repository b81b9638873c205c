import { destroyExpired } from './destroy-expired.ts';
import type { OpenParts } from './with-sandboxes.ts';

/**
 * Destroys expired sandboxes beside what is done with the parts, so that it waits for none of them but `known`, which it uses itself. Their end waits for the one that
 * is being destroyed then, and leaves the others to the next open: which one is the first is left to chance, so that one that takes long delays each of them once in a while only.
 */
export async function removeExpiredBeside(parts: OpenParts, known: string | undefined): Promise<OpenParts> {
  const expired = await parts.store.sandboxes.listExpired();
  await destroyExpired(parts, { found: expired.filter(({ sandboxId }) => sandboxId === known) });
  const others = expired.filter(({ sandboxId }) => sandboxId !== known);
  const first = Math.floor(Math.random() * others.length);
  const ended = new AbortController();
  const removal = destroyExpired(parts, { found: [...others.slice(first), ...others.slice(0, first)], signal: ended.signal });
  return {
    ...parts,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await removal;
      await parts[Symbol.asyncDispose]();
    },
  };
}
