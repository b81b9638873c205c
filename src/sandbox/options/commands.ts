import { z } from 'zod';
import { PROTOCOL } from '../protocol/protocol.ts';
import type { RunOptions, SandboxCommands, StartOptions } from '../api/commands.ts';
import { content, piece } from './content.ts';
import { options, type Parameters } from './parse.ts';
import { abortSignal, bytes, callback, environment, execId, flag, oneOf, path, text, user, whole } from './values.ts';

const { timeoutMs: timeout, maxOutputBytes: output } = PROTOCOL.records.exec;

/** A longer command does not fit into a request. */
const MAX_COMMAND_CHARACTERS = 900_000;
const SIGNALS = PROTOCOL.operations.signal.request.signal.values;

export const command = text({ kind: 'a command', maxLength: MAX_COMMAND_CHARACTERS, minLength: 0 });
export const timeoutMs = whole({ ...timeout, unit: 'milliseconds', fix: `Give whole milliseconds, ${timeout.max} (31 days) at most; 0 sets no limit` });

/** Options that commands, code and terminals have in common. */
export const placeShape = { cwd: path.optional(), env: environment.optional(), user: user.optional() };

const follow = { onStdout: callback.optional(), onStderr: callback.optional(), signal: abortSignal.optional() };

const runShape = {
  ...placeShape,
  ...follow,
  execId: execId.optional(),
  timeoutMs: timeoutMs.optional(),
  stdin: content.optional(),
  maxOutputBytes: whole({ ...output, unit: 'bytes' }).optional(),
  onMethodCall: callback.optional(),
  isBegun: flag.optional(),
} satisfies Record<keyof RunOptions, z.ZodType>;
const startShape = { ...runShape, onStdinError: callback.optional() } satisfies Record<keyof StartOptions, z.ZodType>;

export const COMMANDS: Record<keyof SandboxCommands, Parameters> = {
  run: { command, options: options(runShape).optional() },
  start: { command, options: options(startShape).optional() },
  attach: { execId, from: options({ stdout: bytes, stderr: bytes }).optional(), options: options(follow).optional() },
  writeStdin: { execId, data: piece, options: options({ end: flag.optional() }).optional() },
  closeStdin: { execId },
  kill: { execId, signal: oneOf(SIGNALS, 'a signal').optional() },
  execs: {},
  forget: { execId },
};
