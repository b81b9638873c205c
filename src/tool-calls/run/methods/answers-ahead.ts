import { isFailure } from '../../../contracts/errors.ts';
import type { CallResult } from '../../../store/tool-call-rows.ts';
import type { Within } from './within.ts';

type Hooks = Pick<Within, 'onResult' | 'onStored'>;

/**
 * Runs calls of code whose answers the code may get before they are stored. Such an answer waits until the calls that were answered before it are stored. Once a call
 * could not be stored, no further answer is ahead.
 */
export class AnswersAhead {
  private readonly storing = new Set<Promise<unknown>>();
  private failed = false;

  /** A call that was answered could not be stored. */
  get hasFailed(): boolean {
    return this.failed;
  }

  /** Returns `answered` when `answer` was called. Otherwise, the result if this attempt has stored one. */
  async run(attempt: (hooks: Hooks) => Promise<unknown>, answer: (result: CallResult) => Promise<void>): Promise<'answered' | CallResult | undefined> {
    let answering: Promise<boolean> | undefined;
    let stored: CallResult | undefined;
    const hooks: Hooks = {
      onResult: (result) => void (answering ??= this.answerWhile(running, () => answer(result))),
      onStored: (result) => void (stored = result),
    };
    const running = Promise.resolve().then(() => attempt(hooks));
    try {
      await running;
    } catch (error) {
      // The next call is told that there is no room.
      if ((await answering) && isFailure(error, 'STORAGE_EXHAUSTED')) return 'answered';
      throw error;
    }
    return (await answering) ? 'answered' : stored;
  }

  /** Resolves when each call that was answered is stored or could not be. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.storing);
  }

  private async answerWhile(storing: Promise<unknown>, answer: () => Promise<void>): Promise<boolean> {
    const before = [...this.storing];
    this.storing.add(storing);
    const over = () => this.storing.delete(storing);
    storing.then(over, () => {
      this.failed = true;
      over();
    });
    await Promise.allSettled(before);
    if (this.failed) return false;
    await answer();
    return true;
  }
}
