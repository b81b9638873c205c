import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Diff, DiffCalls } from '../../contracts/checkpoints/diff.ts';
import { conversationIdOf } from '../client-arguments.ts';
import { diffOptions } from '../diff/diff-options.ts';
import { createPatch } from '../diff/read-diff.ts';
import type { HttpLink } from './http-link.ts';

/** The list and the patch are two requests. */
export function createHttpDiff(link: HttpLink): DiffCalls {
  return {
    async diff(conversation, given) {
      const { from, to, paths = [], patch = false } = diffOptions(given);
      const id = conversationIdOf(conversation);
      const query = new URLSearchParams(withoutUndefined({ from, to }));
      for (const path of paths) query.append('path', path);
      const place = `/v1/conversations/${encodeURIComponent(id)}/diff?${query.toString()}`;
      const listed = (await link.json(place)) as Diff;
      return patch ? { ...listed, patch: await patchAt(link, `${place}&format=patch`, id) } : listed;
    },
  };
}

async function patchAt(link: HttpLink, place: string, conversationId: string): Promise<Buffer> {
  const answer = await link.open(place, {});
  const patch = createPatch(conversationId);
  for await (const piece of link.bytes(answer)) patch.add(piece);
  return patch.whole();
}
