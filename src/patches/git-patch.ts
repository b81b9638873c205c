import { binaryPatch, blobName } from './binary-patch.ts';
import { compareLines, isText, type ComparedLines } from './compare-lines.ts';
import { quotedName } from './git-names.ts';

/** What git has of a path: a file or a link. */
export interface Blob {
  mode: '100644' | '100755' | '120000';
  content: Buffer;
}

const LINK = '120000';
const NOTHING = Buffer.alloc(0);

/** The patch of one path. `lines`: the comparison of its texts, when there is one. */
export async function gitPatch(path: string, before: Blob | undefined, after: Blob | undefined, lines: ComparedLines | undefined): Promise<Buffer[]> {
  // A file and a link are two things for git.
  const isOther = before && after && (before.mode === LINK) !== (after.mode === LINK);
  if (isOther) return [...(await onePatch(path, before, undefined)), ...(await onePatch(path, undefined, after))];
  return before || after ? onePatch(path, before, after, lines) : [];
}

async function onePatch(path: string, before: Blob | undefined, after: Blob | undefined, lines?: ComparedLines): Promise<Buffer[]> {
  const [old, current] = [contentOf(before), contentOf(after)];
  const [oldName, newName] = [quotedName('a/', path), quotedName('b/', path)];
  const head = [`diff --git ${oldName} ${newName}\n`, ...modeLines(before, after)];
  if (old.equals(current)) return [latin1(head)];
  if (!isText(old) || !isText(current)) {
    head.push(`index ${blobName(before?.content)}..${blobName(after?.content)}\n`, await binaryPatch(old, current));
    return [latin1(head)];
  }
  head.push(`--- ${before ? oldName : '/dev/null'}\n`, `+++ ${after ? newName : '/dev/null'}\n`);
  const { hunks } = lines ?? compareLines(old, current, { leftMs: 0 });
  return [latin1(head), hunks];
}

function contentOf(blob: Blob | undefined): Buffer {
  return blob?.content ?? NOTHING;
}

function modeLines(before: Blob | undefined, after: Blob | undefined): string[] {
  if (!before) return [`new file mode ${after?.mode}\n`];
  if (!after) return [`deleted file mode ${before.mode}\n`];
  return before.mode === after.mode ? [] : [`old mode ${before.mode}\n`, `new mode ${after.mode}\n`];
}

function latin1(lines: string[]): Buffer {
  return Buffer.from(lines.join(''), 'latin1');
}
