const ESC = '\u001B';
const BEL = '\u0007';
/** The shortest run of lines that is collapsed. Lines of a run differ only in their digits. */
const MIN_RUN = 4;
/** Escape sequences of terminals: colours, cursor movements, titles, character sets and single-letter commands. */
const ANSI = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)|${ESC}[PX^_][^${ESC}]*${ESC}\\\\|${ESC}[ -/]+[0-~]|${ESC}[0-~]`,
  'g',
);
const CONTROL = new RegExp(`[${String.fromCharCode(0)}-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F]`, 'g');

/**
 * Makes the output of a command readable: removes terminal codes, keeps only the last state of each line (progress bars rewrite their line), and collapses runs
 * of similar lines to the first one, a note, and the last one.
 */
export function cleanOutput(text: string): string {
  if (text === '') return text;
  const lines = text.replaceAll(ANSI, '').replaceAll('\r\n', '\n').split('\n').map(lastState);
  return collapse(lines).join('\n');
}

/** The text that a line shows after its carriage returns and backspaces. */
function lastState(line: string): string {
  // Begins with the part that was written last. Of an earlier part, only the characters beyond the end of the later ones are still visible.
  let shown = '';
  for (const part of line.split('\r').toReversed()) {
    const written = applyBackspaces(part);
    if (written.length > shown.length) shown += written.slice(shown.length);
  }
  return shown.replaceAll(CONTROL, '');
}

function applyBackspaces(text: string): string {
  if (!text.includes('\b')) return text;
  const kept: string[] = [];
  for (const character of text) {
    if (character === '\b') kept.pop();
    else kept.push(character);
  }
  return kept.join('');
}

function collapse(lines: string[]): string[] {
  const shown: string[][] = [];
  for (let start = 0; start < lines.length;) {
    const shape = shapeOf(lines[start] ?? '');
    let end = start + 1;
    while (end < lines.length && shapeOf(lines[end] ?? '') === shape) end += 1;
    const run = lines.slice(start, end);
    // Empty lines and lines of numbers are kept.
    if (run.length < MIN_RUN || !/\p{L}/u.test(shape)) shown.push(run);
    else shown.push([run[0] ?? '', `[… ${run.length - 2} similar lines …]`, run.at(-1) ?? '']);
    start = end;
  }
  return shown.flat();
}

function shapeOf(line: string): string {
  return line.replaceAll(/\d+/g, '0').trimEnd();
}
