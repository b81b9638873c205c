import { EXIT, printError, type Cli } from '../output/cli.ts';
import { visibleLine } from '../../contracts/visible-text.ts';

/**
 * Does one piece of work after the other. After a Ctrl-C the one under way still comes to its end, since a half of it would stay on the engine until the reaper
 * comes, and the others are named and not begun. A second Ctrl-C ends the process at once.
 */
export async function oneByOne(cli: Cli, ids: string[], work: (id: string) => Promise<void>): Promise<void> {
  let running = '';
  let interrupted = false;
  let release = (): void => undefined;
  release = cli.onInterrupt(() => {
    release();
    interrupted = true;
    printError(cli, visibleLine(`Interrupted: ${running} is under way and comes to its end; another Ctrl-C breaks it off.`));
  });
  try {
    for (const [index, id] of ids.entries()) {
      running = id;
      await work(id);
      if (!interrupted) continue;
      const left = ids.slice(index + 1);
      if (left.length > 0) printError(cli, visibleLine(`Not begun: ${left.join(', ')}`));
      cli.exitCode = EXIT.interrupted;
      return;
    }
  } finally {
    release();
  }
}
