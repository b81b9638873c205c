import { createInterface } from 'node:readline/promises';
import { failure } from '../../contracts/errors.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import type { Cli } from './cli.ts';

/** Asks a person; anything but yes is no. @throws INVALID_ARGUMENT where there is no terminal */
export async function confirmed(cli: Cli, command: string, question: string): Promise<boolean> {
  if (!cli.in.isTTY)
    throw failure('INVALID_ARGUMENT', { what: command, problem: 'the input is not a terminal, so it cannot ask for confirmation', fix: 'Add --yes' });
  const readline = createInterface({ input: cli.in, output: cli.out.stream, terminal: false });
  const asking = new AbortController();
  readline.once('close', () => asking.abort());
  try {
    const answer = await readline.question(`${visibleLine(question)} (y/N) `, { signal: asking.signal }).catch(() => '');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    readline.close();
  }
}
