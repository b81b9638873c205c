import { diffArrays } from 'diff';

/** Parts of two texts in their order; the content is one character per byte. */
interface Part {
  kind: 'same' | 'added' | 'removed';
  lines: string[];
}
export interface ComparedLines {
  added: number;
  removed: number;
  /** False when it took too long: all lines count as replaced. */
  exact: boolean;
  /** In the unified format. */
  hunks: Buffer;
}

/** What comparing may take in all, so that a worker stays able to answer. */
export interface LineBudget {
  leftMs: number;
}

const CONTEXT = 3;
/** The worker does nothing else meanwhile. */
const LONGEST_MS = 150;
const MOST_EDITS = 20_000;
const MOST_LINES = 100_000;
const NEW_LINE = 10;

/** Compares two texts line by line. */
export function compareLines(before: Buffer, after: Buffer, budget: LineBudget): ComparedLines {
  if (before.equals(after)) return { added: 0, removed: 0, exact: true, hunks: Buffer.alloc(0) };
  const [removed, added] = [countLines(before), countLines(after)];
  const parts = removed > 0 && added > 0 && Math.max(removed, added) <= MOST_LINES ? partsOf(linesOf(before), linesOf(after), budget) : undefined;
  if (parts) {
    return { exact: true, added: countOf(parts, 'added'), removed: countOf(parts, 'removed'), hunks: Buffer.from(hunksOf(parts).join(''), 'latin1') };
  }
  const hunks = [`@@ -${range(1, removed)} +${range(1, added)} @@\n`, marked('-', before, removed), marked('+', after, added)];
  return {
    exact: removed === 0 || added === 0,
    added,
    removed,
    hunks: Buffer.concat(hunks.map((hunk) => (typeof hunk === 'string' ? Buffer.from(hunk) : hunk))),
  };
}

/** As git sees it, with all of the content. */
export function isText(content: Buffer): boolean {
  return !content.includes(0);
}

function partsOf(before: string[], after: string[], budget: LineBudget): Part[] | undefined {
  const timeout = Math.min(LONGEST_MS, budget.leftMs);
  if (timeout <= 0) return undefined;
  const started = performance.now();
  const number = numbering();
  const changes = diffArrays(before.map(number), after.map(number), { timeout, maxEditLength: MOST_EDITS });
  budget.leftMs -= performance.now() - started;
  const at = { before: 0, after: 0 };
  return changes?.map(({ added, removed, count }) => {
    const lines = added ? after.slice(at.after, at.after + count) : before.slice(at.before, at.before + count);
    if (!added) at.before += count;
    if (!removed) at.after += count;
    return { kind: added ? 'added' : removed ? 'removed' : 'same', lines };
  });
}

/** Numbers are compared in no time, however long the lines are. */
function numbering(): (line: string) => number {
  const numbers = new Map<string, number>();
  return (line) => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
}

function hunksOf(parts: Part[]): string[] {
  const written: string[] = [];
  const at = { before: 1, after: 1 };
  let open: { before: number; after: number; lines: string[]; removed: number; added: number } | undefined;
  const put = (mark: string, lines: string[]) => {
    if (!open) return;
    if (mark !== '+') open.removed += lines.length;
    if (mark !== '-') open.added += lines.length;
    for (const line of lines) open.lines.push(withEnd(`${mark}${line}`));
  };
  const close = () => {
    if (!open) return;
    written.push(`@@ -${range(open.before, open.removed)} +${range(open.after, open.added)} @@\n`);
    for (const line of open.lines) written.push(line);
    open = undefined;
  };
  const begin = (context: string[]) => {
    open = { before: at.before - context.length, after: at.after - context.length, lines: [], removed: 0, added: 0 };
    put(' ', context);
  };
  for (const [index, { kind, lines }] of parts.entries()) {
    if (kind !== 'same') {
      if (!open) begin([]);
      put(kind === 'added' ? '+' : '-', lines);
      if (kind === 'added') at.after += lines.length;
      else at.before += lines.length;
      continue;
    }
    const isLast = index === parts.length - 1;
    const isJoined = open !== undefined && !isLast && lines.length <= 2 * CONTEXT;
    if (open) put(' ', isJoined ? lines : lines.slice(0, CONTEXT));
    at.before += lines.length;
    at.after += lines.length;
    if (isJoined) continue;
    close();
    if (!isLast) begin(lines.slice(-CONTEXT));
  }
  close();
  return written;
}

/** As git writes it: an empty range begins at the line before it. */
function range(start: number, count: number): string {
  return count === 0 ? `${start - 1},0` : `${start},${count}`;
}

function withEnd(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;
}

function countOf(parts: Part[], kind: Part['kind']): number {
  return parts.reduce((sum, part) => sum + (part.kind === kind ? part.lines.length : 0), 0);
}

function linesOf(content: Buffer): string[] {
  return content.toString('latin1').match(/[^\n]*\n|[^\n]+/g) ?? [];
}

function countLines(content: Buffer): number {
  let count = 0;
  for (let at = content.indexOf(NEW_LINE); at >= 0; at = content.indexOf(NEW_LINE, at + 1)) count += 1;
  return count + (content.length > 0 && content.at(-1) !== NEW_LINE ? 1 : 0);
}

/** Each line with a mark before it, without a text for each line. */
function marked(mark: string, content: Buffer, lines: number): Buffer {
  const result = Buffer.alloc(content.length + lines);
  let to = 0;
  for (let from = 0; from < content.length;) {
    const found = content.indexOf(NEW_LINE, from);
    const end = found < 0 ? content.length : found + 1;
    to += result.write(mark, to, 'latin1');
    to += content.copy(result, to, from, end);
    from = end;
  }
  const isWhole = content.length === 0 || content.at(-1) === NEW_LINE;
  return isWhole ? result : Buffer.concat([result, Buffer.from('\n\\ No newline at end of file\n')]);
}
