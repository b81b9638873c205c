import { prettyFactory } from 'pino-pretty';
import { isObject } from '../contracts/json.ts';
import { visibleText } from '../contracts/visible-text.ts';

/** Turns lines of a worker's log into lines for a person; what is no JSON stays as it is. */
export function createLogReader(): (line: string) => string {
  const pretty = prettyFactory({ colorize: false, translateTime: 'HH:MM:ss', ignore: 'pid,hostname', singleLine: true });
  return (line) => {
    const entry = parsed(line);
    return entry ? pretty(entry) : `${visibleText(line)}\n`;
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
