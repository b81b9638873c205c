import { setImmediate as othersFirst } from 'node:timers/promises';
import type { ChangedSide, ChangeKind, FileChange } from '../contracts/checkpoints/diff.ts';
import type { DifferenceSide, FileDifference } from '../sandbox/api/differences.ts';
import { compareLines, isText, type ComparedLines, type LineBudget } from './compare-lines.ts';
import { nameBytes, quotedName } from './git-names.ts';
import { gitPatch, type Blob } from './git-patch.ts';
import { leftOutOf } from './left-out.ts';

interface DescribedDifference {
  change: FileChange;
  /** Its part of a patch; empty unless that is asked for. */
  patch: Buffer;
}

const RUNNABLE = 0o100;
const NOTHING = Buffer.alloc(0);

/** One difference for a list, and as a part of a patch. What the patch does not have is named in it. */
export async function describeDifference(difference: FileDifference, { patch, budget }: { patch: boolean; budget: LineBudget }): Promise<DescribedDifference> {
  // Each difference may take a moment.
  await othersFirst();
  const { path, before, after } = difference;
  const leftOut = leftOutOf(difference);
  const lines = linesOf(difference, budget);
  const change: FileChange = {
    path,
    change: kindOf(difference),
    ...(before && { before: shown(before) }),
    ...(after && { after: shown(after) }),
    ...(lines && { lines: { added: lines.added, removed: lines.removed, exact: lines.exact } }),
    ...(leftOut && { leftOut: leftOut.why }),
  };
  if (!patch) return { change, patch: NOTHING };
  const pieces = leftOut?.isWhole ? [] : await gitPatch(path, blobOf(before), blobOf(after), lines);
  if (leftOut) pieces.push(Buffer.from(`# left out: ${quotedName('', path)}: ${leftOut.why}\n`, 'latin1'));
  return { change, patch: Buffer.concat(pieces) };
}

function shown({ type, mode, size, target }: DifferenceSide): ChangedSide {
  return { type, ...(mode !== undefined && { mode }), ...(size !== undefined && { bytes: size }), ...(target !== undefined && { target }) };
}

function kindOf({ before, after }: FileDifference): ChangeKind {
  if (!before || !after) return before ? 'removed' : 'added';
  if (before.type !== after.type) return 'type';
  if (before.type === 'directory') return 'mode';
  return before.content && after.content?.equals(before.content) ? 'mode' : 'changed';
}

function blobOf(side: DifferenceSide | undefined): Blob | undefined {
  if (side?.type === 'link') return { mode: '120000', content: nameBytes(side.target ?? '') };
  if (side?.type !== 'file' || !side.content) return undefined;
  return { mode: ((side.mode ?? 0) & RUNNABLE) === 0 ? '100644' : '100755', content: side.content };
}

/** The lines of the texts that a difference is about; what is no file has none. */
function linesOf({ before, after, problem }: FileDifference, budget: LineBudget): ComparedLines | undefined {
  if (problem !== undefined || (before?.type !== 'file' && after?.type !== 'file')) return undefined;
  const [old, current] = [textOf(before), textOf(after)];
  return old && current && compareLines(old, current, budget);
}

/** Undefined: the file is no text, or too large. */
function textOf(side: DifferenceSide | undefined): Buffer | undefined {
  if (side?.type !== 'file') return NOTHING;
  return side.content && isText(side.content) ? side.content : undefined;
}
