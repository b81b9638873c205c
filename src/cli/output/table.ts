import { visibleLine } from '../../contracts/visible-text.ts';
import { printLine, type Cli } from './cli.ts';

/** Columns as wide as their widest cell. */
export function printTable(cli: Cli, head: string[], rows: string[][]): void {
  // A line break in a cell would start a line that looks like another row.
  const lines = [head, ...rows.map((row) => row.map(visibleLine))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    printLine(cli, cells.join('  ').trimEnd());
  }
}
