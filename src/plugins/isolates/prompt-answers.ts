/** Looks out for the answers of a process that usually answers at once. */
export interface PromptAnswers {
  /** A question was sent. */
  asked: () => void;
  /** An answer came. */
  answered: () => void;
}

/** An answer that comes within this time costs less to look for than to be woken by. */
const PROMPT_MS = 0.2;
const LOOK_MS = 0.1;
/** So many prompt answers, one after the other, make it worth to look for the next. */
const ENOUGH = 4;

/**
 * To be woken by an answer takes a process longer than a small call takes altogether. So after a question to one that has answered promptly of late, the event
 * loop goes round for a moment before it sleeps; whatever else there is to do is done meanwhile. One look in vain, and it sleeps as ever until answers
 * have been prompt again: a slow plugin costs nothing more, and one that waits for this very processor gets it.
 * @param now milliseconds.
 * @param later runs a function in the next round of the event loop.
 */
export function createPromptAnswers(now: () => number = () => performance.now(), later: (look: () => void) => void = setImmediate): PromptAnswers {
  let askedAt = 0;
  let missing = ENOUGH;
  let looking = false;
  const look = (): void => {
    if (!looking) return;
    if (now() - askedAt < LOOK_MS) return later(look);
    looking = false;
    missing = ENOUGH;
  };
  return {
    asked() {
      askedAt = now();
      if (missing > 0 || looking) return;
      looking = true;
      later(look);
    },
    answered() {
      looking = false;
      if (now() - askedAt > PROMPT_MS) missing = ENOUGH;
      else if (missing > 0) missing -= 1;
    },
  };
}
