import { visibleJsonText } from '../contracts/visible-text.ts';
import { pino, type Logger } from 'pino';
import type { Config } from './config.ts';

export type { Logger };

const SECRET_KEYS = ['apiKey', 'authorization', 'password', 'secret', 'token', 'DATABASE_URL', 'LONGSHORE_ENCRYPTION_KEYS', 'headers.authorization'];

/**
 * Makes the process's logger: JSON lines to stderr. Fields with the names of secrets are redacted at the first three levels.
 * Callers add `conversationId`, `turnId` and `callId` with `logger.child`.
 */
export function createLogger(config: Pick<Config, 'LONGSHORE_LOG_LEVEL'>): Logger {
  const paths = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);
  const stderr = pino.destination({ dest: 2, sync: true });
  // pino does not escape characters above ASCII: C1 controls and bidi overrides would reach a terminal.
  const escaped = { write: (line: string) => stderr.write(visibleJsonText(line)) };
  return pino({ level: config.LONGSHORE_LOG_LEVEL, redact: { paths, censor: '[redacted]' } }, escaped);
}
