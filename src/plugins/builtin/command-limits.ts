import { z } from 'zod';

const DEFAULT_TIMEOUT_SECONDS = 120;
const MAX_TIMEOUT_SECONDS = 3600;

/** Limit of the whole call: the longest time limit of a command, and a minute to store the result. */
export const COMMAND_CALL_TIMEOUT_MS = (MAX_TIMEOUT_SECONDS + 60) * 1000;

export const timeoutSeconds = z
  .number()
  .positive()
  .max(MAX_TIMEOUT_SECONDS)
  .default(DEFAULT_TIMEOUT_SECONDS)
  .describe(`Seconds until the command is ended. Default ${DEFAULT_TIMEOUT_SECONDS}, at most ${MAX_TIMEOUT_SECONDS}.`);

export const workingDirectory = z.string().min(1).optional().describe('Directory to work in. Default /home/user.');
