import type { LoggingLevel } from '@modelcontextprotocol/client';
import { cutMiddle, visibleText } from '../../../../contracts/visible-text.ts';
import type { Logger } from '../../../../platform/log.ts';
import { createLogLimit } from '../../../api/log-limit.ts';

/** What a connection reports to the worker in addition to answers. */
export interface Heard {
  toolsChanged: () => void;
  log: (level: LoggingLevel, data: unknown) => void;
  /** Nothing of these is kept, so that only operators are told. */
  listChanged: (of: 'resources' | 'prompts') => void;
  /** Watched resources could not be followed. */
  problem: (error: unknown) => void;
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

/** Writes into the log of the worker what a server reports for operators, and what it logs, as the words of the server. */
export function logOf(plugin: string, log: Logger): Omit<Heard, 'toolsChanged'> {
  const mayWrite = createLogLimit(log, { plugin });
  return {
    log(level, data) {
      const said = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
      if (!mayWrite(Math.min(said.length, LONGEST))) return;
      log[LEVELS[level]]({ plugin, said: cutMiddle(visibleText(said.slice(0, LONGEST_READ)), LONGEST) }, 'an MCP server logs');
    },
    listChanged: (of) => void (mayWrite(0) && log.info({ plugin }, `the ${of} of an MCP server have changed`)),
    problem: (error) => log.warn({ plugin, err: error }, 'a resource of an MCP server that is watched could not be followed'),
  };
}
