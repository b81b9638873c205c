import { failure } from '../../contracts/errors.ts';
import type { ForkRow, Forks, PlacedCheckpoint } from './forks.ts';
import { resultOf, type Outline } from './fork-places.ts';

/** Where the files of a fork come from. `mark`: what is `live` is so only while the source's activity has this mark. */
export type FilesPlan = { from: 'empty' } | { from: 'live'; isExact: boolean; mark: number } | { from: 'checkpoint'; checkpoint: PlacedCheckpoint };

const GONE = new Set(['destroyed', 'lost', 'creating']);
const TOLD_PLACES = 5;

/** A fork as far as its files depend on it; `conversationId` is the source. */
type Wanted = Pick<ForkRow, 'conversationId' | 'transcriptSeq' | 'files' | 'resultSeq' | 'checkpointId'>;

/**
 * Decides where the files of a fork come from. Two places have the same files when the newest result of a tool that they show is the same.
 * @throws FORK_REFUSED, FORK_FILES_UNKNOWN, CHECKPOINT_NOT_FOUND
 */
export async function planFiles({ forks, sandboxes }: Sources, fork: Wanted): Promise<FilesPlan> {
  const { conversationId, files, resultSeq, checkpointId } = fork;
  if (files === 'none') return { from: 'empty' };
  const { waits, had } = await forks.files(conversationId);
  if (waits) throw refusedToWait(conversationId);
  const row = await sandboxes.ofConversation(conversationId);
  if (!row && files === 'exact' && resultSeq === undefined) return { from: 'empty' };
  const isThere = row !== undefined && !GONE.has(row.state);
  if (checkpointId !== undefined) return namedCheckpoint(forks, { conversationId, checkpointId, isThere });
  return planAt(forks, fork, { isThere, isNone: !row && !had });
}

async function planAt(forks: Forks, fork: Wanted, { isThere, isNone }: { isThere: boolean; isNone: boolean }): Promise<FilesPlan> {
  const { conversationId, files, resultSeq } = fork;
  const { isChanging, mark } = await forks.activity(conversationId);
  const entries = await forks.outline(conversationId);
  const isOwn = !isBeforeOtherFiles(fork, entries, await forks.get(conversationId));
  if (isNone && (isOwn || files === 'now')) return { from: 'empty' };
  const isExact = isOwn && !isChanging && newestShown(entries) === resultSeq;
  if (isThere && (isExact || files === 'now')) return { from: 'live', isExact, mark };
  return planExact(forks, { conversationId, files, entries, isThere, resultSeq });
}

/** The source is a fork itself, and got other files than those of its place. Its note says so; the place comes before that note. */
function isBeforeOtherFiles({ transcriptSeq, resultSeq }: Wanted, entries: readonly Outline[], begun: ForkRow | undefined): boolean {
  if (!begun || begun.files === 'exact' || resultSeq === undefined || transcriptSeq > begun.transcriptSeq) return false;
  return entries.some(({ seq, role }) => seq === begun.transcriptSeq + 1 && role === 'note');
}

interface Sources {
  forks: Forks;
  sandboxes: { ofConversation(conversationId: string): Promise<{ state: string } | undefined> };
}

/** The live files are those of another place. */
async function planExact(
  forks: Forks,
  {
    conversationId,
    files,
    entries,
    isThere,
    resultSeq,
  }: Pick<ForkRow, 'conversationId' | 'files'> & { entries: Outline[]; isThere: boolean; resultSeq: number | undefined },
): Promise<FilesPlan> {
  const checkpoints = isThere && files === 'exact' ? await forks.checkpoints(conversationId) : [];
  const checkpoint = checkpoints.findLast((one) => hasResult(entries, one, resultSeq));
  if (checkpoint) return { from: 'checkpoint', checkpoint };
  if (resultSeq === undefined && files === 'exact') return { from: 'empty' };
  throw unknown(conversationId, isThere, checkpoints);
}

async function namedCheckpoint(forks: Forks, named: { conversationId: string; checkpointId: string; isThere: boolean }): Promise<FilesPlan> {
  const { conversationId, checkpointId, isThere } = named;
  const checkpoint = (await forks.checkpoints(conversationId)).find((one) => one.checkpointId === checkpointId);
  if (checkpoint && isThere) return { from: 'checkpoint', checkpoint };
  throw failure('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId, conversationId });
}

function newestShown(entries: readonly Outline[]): number | undefined {
  return entries.findLast(({ role, rewound }) => role === 'tool' && !rewound)?.seq;
}

/** The files of a checkpoint are those of every place from its own to the one where they were last found to be the same. */
function hasResult(entries: readonly Outline[], { afterSeq, unchangedTo, hidden }: PlacedCheckpoint, resultSeq: number | undefined): boolean {
  const first = resultOf(entries, { upTo: afterSeq, hidden });
  const last = resultOf(entries, { upTo: Math.max(afterSeq, unchangedTo), hidden });
  return resultSeq === first || (resultSeq !== undefined && resultSeq > (first ?? 0) && resultSeq <= (last ?? 0) && !hidden.includes(resultSeq));
}

function refusedToWait(conversationId: string): Error {
  const fix = 'Wait for its event fork.ready, or fork with files none';
  return failure('FORK_REFUSED', { conversationId, problem: 'it is a fork that has not got its files yet', fix });
}

function unknown(conversationId: string, isThere: boolean, checkpoints: readonly PlacedCheckpoint[]): Error {
  const ids = checkpoints.map(({ checkpointId }) => checkpointId);
  const shown = ids.slice(-TOLD_PLACES);
  const more = ids.length > shown.length ? `, and ${ids.length - shown.length} older checkpoints` : '';
  const places = shown.length > 0 ? `at ${shown.join(', ')}${more}` : 'nowhere, since it has no checkpoints (checkpoints: step or turn in the agent)';
  const problem = isThere ? 'they have changed since, and there is no checkpoint of that moment' : 'it has no sandbox now';
  return failure('FORK_FILES_UNKNOWN', { conversationId, problem, places });
}
