import { printLine, type Cli } from './cli.ts';

/** Columns as wide as their widest cell. */
export function printTable(cli: Cli, head: string[], rows: string[][]): void {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    printLine(cli, cells.join('  ').trimEnd());
  }
}
