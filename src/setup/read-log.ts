import { prettyFactory } from 'pino-pretty';
import { isObject } from '../contracts/json.ts';
import { visibleLine, visibleText } from '../contracts/visible-text.ts';

/** Before the lines of an entry after its first: none of them can be taken for another entry. */
const MARGIN = '\n    ';

/** Turns lines of a worker's log into lines for a person; what is no JSON stays as it is. */
export function createLogReader(): (line: string) => string {
  const pretty = prettyFactory({ colorize: false, translateTime: 'HH:MM:ss', ignore: 'pid,hostname', singleLine: true });
  return (line) => {
    const entry = parsed(line);
    return entry ? `${visibleText(pretty(entry).trimEnd()).replaceAll('\n', MARGIN)}\n` : `${visibleLine(line)}\n`;
  };
}

function parsed(line: string): object | undefined {
  try {
    const entry = JSON.parse(line) as unknown;
    return isObject(entry) ? entry : undefined;
  } catch {
    return undefined;
  }
}
