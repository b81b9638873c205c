/** What a plugin, or a connection to an MCP server, may write into the log of its worker in a minute: characters. */
const MOST = 1_000_000;
const WITHIN_MS = 60_000;
/** What each line has besides its text. Characters. */
const OF_A_LINE = 200;

/** The log of a worker. */
export interface Log {
  warn: (values: object, text: string) => void;
}

/** Whether a line of so many characters may still be written. */
export type LogLimit = (characters: number) => boolean;

/** Limits what others write into the log of a worker. Lines that are left out are counted, and the log says how many there were. */
export function createLogLimit(log: Log, about: object): LogLimit {
  let since = Date.now();
  let written = 0;
  let leftOut = 0;
  const beginAgain = (): void => {
    if (leftOut > 0) log.warn({ ...about, lines: leftOut }, 'lines of this plugin were left out of the log');
    since = Date.now();
    written = 0;
    leftOut = 0;
  };
  return (characters) => {
    if (leftOut === 0 && Date.now() - since >= WITHIN_MS) beginAgain();
    if (written < MOST) {
      written += characters + OF_A_LINE;
      return true;
    }
    if (leftOut === 0) {
      log.warn(about, `this plugin has written ${MOST} characters into the log within a minute; until the minute is over, its lines are left out`);
      setTimeout(beginAgain, WITHIN_MS - (Date.now() - since)).unref();
    }
    leftOut += 1;
    return false;
  };
}
