import { isFailure, type LongshoreError } from '../../contracts/errors.ts';
import { roomText, waitsIn } from '../../contracts/hosts/room.ts';
import type { Waiting } from '../../sandbox/api/until-room.ts';
import { EXIT, printError, type Cli } from '../output/cli.ts';

/** Does what waits for memory or disk of a host, and says once what for. Ctrl-C ends the wait, a second one the process. */
export async function waitingForRoom(cli: Cli, work: (waiting: Waiting & { signal: AbortSignal }) => Promise<void>): Promise<void> {
  const { signal, release } = interruption(cli);
  let isSaid = false;
  const onWait = (why: LongshoreError) => {
    if (!isSaid) printError(cli, `It ${roomText(waitsIn(why.values))}. Ctrl-C ends the wait.`);
    isSaid = true;
  };
  try {
    await work({ signal, onWait });
  } catch (error) {
    if (!signal.aborted || isFailure(error)) throw error;
    cli.exitCode = EXIT.interrupted;
  } finally {
    release();
  }
}

function interruption(cli: Cli): { signal: AbortSignal; release: () => void } {
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => {
    interrupted.abort();
    release();
  });
  return { signal: interrupted.signal, release };
}
