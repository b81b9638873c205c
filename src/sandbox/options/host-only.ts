import { z } from 'zod';
import type { CheckpointOptions, SandboxCheckpoint, SandboxCheckpoints } from '../api/checkpoints.ts';
import type { CheckpointDifferences, CompareRequest } from '../api/differences.ts';
import type { DirectoryArchives } from '../api/directory-archives.ts';
import type { ConnectPortOptions, HostMethods, RunToolOptions, SandboxServer, ServerRequestOptions } from '../api/host-methods.ts';
import { timeoutMs } from './commands.ts';
import { isNot, isPlainObject, options, value, type Parameters } from './parse.ts';
import { abortSignal, bytes, callback, environment, execId, flag, list, name, path, text, whole } from './values.ts';

type MadeCheckpoint = Pick<SandboxCheckpoint, 'number' | 'at'>;

const MAX_ARGUMENTS = 1000;
const MAX_ARGUMENT_CHARACTERS = 131_071;
const LAST_PORT = 65_535;
const MAX_TIME = 40;
const MAX_CHECKPOINTS = 1000;
const MAX_PATHS = 100;
const MAX_CODE_CHARACTERS = 64 * 1024 * 1024;

const number = whole({ min: 1, max: Number.MAX_SAFE_INTEGER });
const json = value<object>((given) => (isPlainObject(given) && JSON.stringify(given) !== undefined ? undefined : isNot(given, 'an object')));
const argument = text({ kind: 'an argument', maxLength: MAX_ARGUMENT_CHARACTERS, minLength: 0 });
const program = text({ kind: 'a program', maxLength: MAX_ARGUMENT_CHARACTERS });

const server = options({
  name,
  command: program,
  args: list({ item: argument, kind: 'arguments', maxItems: MAX_ARGUMENTS }),
  env: environment,
  directory: path.optional(),
  maySample: flag.optional(),
} satisfies Record<keyof SandboxServer, z.ZodType>);

const checkpoint = options({ key: execId, keep: whole({ min: 1, max: MAX_CHECKPOINTS }) } satisfies Record<keyof CheckpointOptions, z.ZodType>);

/** Callers give a checkpoint as they got it, with its other fields. */
const made = value<object>((given) => (isPlainObject(given) ? undefined : isNot(given, 'a checkpoint'))).pipe(
  z.looseObject({ number, at: text({ kind: 'a time', maxLength: MAX_TIME }) } satisfies Record<keyof MadeCheckpoint, z.ZodType>),
);

/** Within other options, where the name of the option is told and not those of its fields. */
const moment = value<object>((given) => (isMoment(given) ? undefined : isNot(given, 'a checkpoint')));

function isMoment(given: unknown): boolean {
  if (!isPlainObject(given)) return false;
  const { number: count, at } = given as Record<string, unknown>;
  return number.safeParse(count).success && typeof at === 'string' && at.length <= MAX_TIME;
}

/** Methods that only the worker of a conversation needs. */
export const HOST_ONLY: Record<keyof HostMethods | keyof SandboxCheckpoints | keyof CheckpointDifferences | keyof DirectoryArchives, Parameters> = {
  answerMethod: { execId, number, answer: json },
  holdMethod: { execId, number },
  concludeAt: { execId, number },
  callServer: {
    server,
    request: options({ method: name, params: json }),
    options: options({
      execId: execId.optional(),
      timeoutMs: timeoutMs.optional(),
      signal: abortSignal.optional(),
      asStarted: flag.optional(),
      onProgress: callback.optional(),
      onRestart: callback.optional(),
      isBegun: flag.optional(),
      onMethodCall: callback.optional(),
      hasChannel: flag.optional(),
    } satisfies Record<keyof ServerRequestOptions, z.ZodType>).optional(),
  },
  runTool: {
    request: options({ name, code: text({ kind: 'a text of code', maxLength: MAX_CODE_CHARACTERS }), call: json }),
    options: options({
      execId,
      timeoutMs,
      signal: abortSignal.optional(),
      isBegun: flag.optional(),
      asStarted: flag.optional(),
      onTold: callback,
      onPrint: callback,
      onMethodCall: callback,
    } satisfies Record<keyof RunToolOptions, z.ZodType>),
  },
  serverMark: { name },
  connectPort: {
    port: whole({ min: 1, max: LAST_PORT }),
    options: options({ onOpen: callback, signal: abortSignal } satisfies Record<keyof ConnectPortOptions, z.ZodType>),
  },
  createCheckpoint: { options: checkpoint },
  checkpoints: {},
  restoreCheckpoint: { checkpoint: made, options: checkpoint },
  compareCheckpoint: {
    request: options({
      from: moment,
      to: moment.optional(),
      paths: list({ item: path, kind: 'paths', maxItems: MAX_PATHS }).optional(),
      mostBytes: bytes,
    } satisfies Record<keyof CompareRequest, z.ZodType>),
    onDifference: callback,
    options: options({ signal: abortSignal.optional() }).optional(),
  },
  packDirectory: { path, onData: callback },
  endServers: { except: list({ item: name, kind: 'names', maxItems: MAX_ARGUMENTS }) },
};
