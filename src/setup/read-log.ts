import { prettyFactory } from 'pino-pretty';
import { isObject } from '../contracts/json.ts';
import { visibleLine, visibleText } from '../contracts/visible-text.ts';

/** Indents all lines of an entry but the first, so that none of them looks like another entry. */
const MARGIN = '\n    ';

/** Turns JSON lines of a worker's log into text for people. Other lines keep their text. */
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
