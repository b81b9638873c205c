import { createInterface } from 'node:readline/promises';
import { failure } from '../../contracts/errors.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import type { Cli } from './cli.ts';

/** Asks a person; anything but yes is no, and so is the end of the signal. @throws INVALID_ARGUMENT where there is no terminal */
export async function confirmed(cli: Cli, command: string, question: string, signal?: AbortSignal): Promise<boolean> {
  if (!cli.in.isTTY)
    throw failure('INVALID_ARGUMENT', { what: command, problem: 'the input is not a terminal, so it cannot ask for confirmation', fix: 'Add --yes' });
  const readline = createInterface({ input: cli.in, output: cli.out.stream, terminal: false });
  const asking = new AbortController();
  const stop = () => asking.abort();
  readline.once('close', stop);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    const answer = await readline.question(`${visibleLine(question)} (y/N) `, { signal: asking.signal }).catch(() => '');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    signal?.removeEventListener('abort', stop);
    readline.close();
  }
}
