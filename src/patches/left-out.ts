import type { DifferenceSide, FileDifference } from '../sandbox/api/differences.ts';
import { refusedByGit } from './git-names.ts';

/** Why a patch does not have a difference (`isWhole`), or something of it. */
export interface LeftOut {
  why: string;
  isWhole: boolean;
}

/** Others are told by git's two kinds of files. */
const USUAL_MODES = [0o644, 0o755];

export function leftOutOf(difference: FileDifference): LeftOut | undefined {
  const { path, problem, before, after } = difference;
  const sides = [before, after].filter((side) => side !== undefined);
  const why = problem ?? sides.map((side) => sideProblem(path, side)).find((found) => found !== undefined) ?? directoryProblem(difference);
  return why === undefined ? modeProblem(difference) : { why, isWhole: true };
}

function sideProblem(path: string, { type, size, content }: DifferenceSide): string | undefined {
  const refused = refusedByGit(path, type);
  if (refused !== undefined) return refused;
  if (type === 'closed') return 'it could not be read';
  if (type === 'other') return 'it is no file, directory or link';
  return type === 'file' && !content ? `it has ${size ?? 0} bytes, which is too large to be compared` : undefined;
}

function directoryProblem({ before, after }: FileDifference): string | undefined {
  if (before && after)
    return before.type === 'directory' && after.type === 'directory' ? 'the permission bits of a directory, which git does not keep' : undefined;
  return (before ?? after)?.empty ? 'an empty directory, which git does not keep' : undefined;
}

function modeProblem({ before, after }: FileDifference): LeftOut | undefined {
  if (after?.type !== 'file' || after.mode === undefined || after.mode === before?.mode || USUAL_MODES.includes(after.mode)) return undefined;
  return { why: `its permission bits ${after.mode.toString(8)}, of which git keeps only whether it can be run`, isWhole: false };
}
