import { LISTED_CHANGES, type CompareMessage, type DiffEnd } from '../../contracts/checkpoints/diff.ts';
import { describeDifference } from '../../patches/describe-difference.ts';
import type { CallName } from '../channel/calls.ts';
import type { Operation } from './wire.ts';

type CheckpointCalls = Extract<CallName, `checkpoints.${string}`>;

/** Larger files are not compared line by line, and are in no patch. */
const MOST_COMPARED_BYTES = 4 * 1024 * 1024;
/** What comparing lines may take in one call. */
const LINES_MS = 20_000;

export const CHECKPOINT_OPERATIONS: { [Name in CheckpointCalls]: Operation<Name> } = {
  async 'checkpoints.compare'(handle, { from, to, paths, patch }, { sender, signal }) {
    const budget = { leftMs: LINES_MS };
    const summary = { changed: 0, linesAdded: 0, linesRemoved: 0, leftOut: 0, notListed: 0 };
    const send = (message: CompareMessage) => sender.json(message);
    const request = { from, ...(to && { to }), ...(paths && { paths }), mostBytes: MOST_COMPARED_BYTES };
    let isBegun = false;
    const begin = async () => {
      if (!isBegun) await sender.json(null);
      isBegun = true;
    };
    const { at, closed } = await handle.compareCheckpoint(
      request,
      async (difference) => {
        await begin();
        const described = await describeDifference(difference, { patch, budget });
        const { lines, leftOut } = described.change;
        summary.changed += 1;
        summary.linesAdded += lines?.added ?? 0;
        summary.linesRemoved += lines?.removed ?? 0;
        summary.leftOut += leftOut === undefined ? 0 : 1;
        if (summary.changed <= LISTED_CHANGES) await send({ change: described.change });
        else summary.notListed += 1;
        if (described.patch.length > 0) await sender.data(described.patch);
      },
      { signal },
    );
    await begin();
    const end: DiffEnd = { ...summary, unreadable: closed, at };
    await send({ end });
  },
};
