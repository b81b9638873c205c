import { visibleLine } from '../../contracts/visible-text.ts';
import { printLine, type Cli } from './cli.ts';
import { shownWidth } from './shown-width.ts';

/** Columns as wide as their widest cell. */
export function printTable(cli: Cli, head: string[], rows: string[][]): void {
  // A line break in a cell would start a line that looks like another row.
  const lines = [head, ...rows.map((row) => row.map(visibleLine))];
  const widths = head.map((_, column) => lines.reduce((widest, line) => Math.max(widest, shownWidth(line[column] ?? '')), 0));
  for (const line of lines) {
    const cells = line.map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - shownWidth(cell))));
    printLine(cli, cells.join('  ').trimEnd());
  }
}
