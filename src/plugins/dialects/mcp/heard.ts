import type { LoggingLevel } from '@modelcontextprotocol/sdk/types.js';
import { cutMiddle, visibleText } from '../../../contracts/visible-text.ts';
import type { Logger } from '../../../platform/log.ts';

/** What a connection reports to the worker in addition to answers. */
export interface Heard {
  toolsChanged: () => void;
  log: (level: LoggingLevel, data: unknown) => void;
}

const LONGEST = 1_000;
const LONGEST_READ = 5_000;
const LEVELS = {
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
} as const satisfies Record<LoggingLevel, keyof Logger>;

/** Writes what a server logs into the log of the worker, as the words of the server. */
export function logOf(plugin: string, log: Logger): Heard['log'] {
  return (level, data) => {
    const said = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    log[LEVELS[level]]({ plugin, said: cutMiddle(visibleText(said.slice(0, LONGEST_READ)), LONGEST) }, 'an MCP server logs');
  };
}
