/** A time limit that does not count the time in which it is held. */
export interface TimeLimit extends Disposable {
  /** Holds it until what is returned is disposed of. */
  hold: () => Disposable;
}

export function startTimeLimit(milliseconds: number, onOver: () => void): TimeLimit {
  let left = milliseconds;
  let holders = 0;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined = setTimeout(onOver, left);
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    hold() {
      holders += 1;
      if (holders === 1) {
        left -= performance.now() - since;
        stop();
      }
      let isHeld = true;
      return {
        [Symbol.dispose]() {
          if (!isHeld) return;
          isHeld = false;
          holders -= 1;
          if (holders > 0) return;
          since = performance.now();
          timer = setTimeout(onOver, Math.max(0, left));
        },
      };
    },
    [Symbol.dispose]: () => {
      // What is held longer must not start it again.
      holders = Infinity;
      stop();
    },
  };
}
