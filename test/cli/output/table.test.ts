import { PassThrough } from 'node:stream';
import type { Cli } from '../../../src/cli/output/cli.ts';
import { printTable } from '../../../src/cli/output/table.ts';
import { createOutput } from '../../../src/cli/output/terminal.ts';

/** Where the cells of the last column begin, in columns of a terminal that draws wide characters in two. */
function beginnings(cells: string[], widths: number[]): number[] {
  const stream = new PassThrough();
  const cli = { out: createOutput(stream) } as unknown as Cli;
  printTable(
    cli,
    ['USER', 'STATE'],
    cells.map((cell) => [cell, 'idle']),
  );
  const lines = String(stream.read()).trimEnd().split('\n').slice(1);
  return lines.map((line, at) => (widths[at] ?? 0) + line.indexOf('idle') - (cells[at]?.length ?? 0));
}

test('columns begin at the same place below wide characters, emoji and combining marks', () => {
  const cells = ['ann', '灯台守の人', 'e\u0301a', '🌍🚀', 'ﾊﾛｰ', '한국어'];
  const widths = [3, 10, 2, 4, 3, 6];
  expect(new Set(beginnings(cells, widths))).toEqual(new Set([12]));
});

test('a long table is printed as it is', () => {
  expect(beginnings(['a', 'x'.repeat(500)], [1, 500])).toEqual([502, 502]);
});
