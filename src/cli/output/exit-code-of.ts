import { CommanderError } from 'commander';
import { isFailure, type ErrorCode } from '../../contracts/errors.ts';
import { EXIT } from './cli.ts';

const USAGE_CODES = new Set<ErrorCode>([
  'INVALID_ARGUMENT',
  'CONFIG_INVALID',
  'AGENT_INVALID',
  'AGENT_NOT_FOUND',
  'TEMPLATE_INVALID',
  'TEMPLATE_NOT_FOUND',
  'SKILL_INVALID',
  'PLUGIN_INVALID',
  'PLUGIN_COLLISION',
  'METHOD_COLLISION',
  'PLUGIN_NOT_FOUND',
  'MESSAGE_INVALID',
  'ATTACHMENT_INVALID',
  'OUTPUT_INVALID',
]);
const AWAY_CODES = new Set<ErrorCode>([
  'POSTGRES_UNAVAILABLE',
  'POSTGRES_FULL',
  'DATABASE_NEWER',
  'DATABASE_OLDER',
  'TEMPORAL_UNAVAILABLE',
  'TEMPORAL_NOT_PREPARED',
  'DOCKER_UNAVAILABLE',
  'NO_WORKER',
  'SCHEDULE_NOT_RUN',
  'IMAGE_NOT_FOUND',
]);

/** The exit code for an error; the same for every command. */
export function exitCodeOf(error: unknown): number {
  // Commander throws help and version as errors too, with the code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (!isFailure(error)) return EXIT.failed;
  if (USAGE_CODES.has(error.code)) return EXIT.usage;
  return AWAY_CODES.has(error.code) ? EXIT.serviceAway : EXIT.failed;
}
