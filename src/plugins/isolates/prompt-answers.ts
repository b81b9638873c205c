/** Polls for the answers of a process that usually answers at once. */
export interface PromptAnswers {
  asked: () => void;
  answered: () => void;
}

/** To poll for an answer that comes within this time costs less than to sleep and wake up for it. */
const PROMPT_MS = 0.2;
const LOOK_MS = 0.1;
/** After this many prompt answers in a row, it polls for the next one. */
const ENOUGH = 4;

/**
 * It takes a process longer to wake up for an answer than a small call takes in total. So after a question to a process that has recently answered promptly,
 * the event loop spins for a moment before it sleeps; other work continues during that time. After one poll without an answer it sleeps as usual until
 * answers have been prompt again. So a slow plugin costs nothing more, and a plugin that waits for the same processor gets it.
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
