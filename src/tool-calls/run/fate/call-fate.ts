import { failure, isFailure, type ErrorCode } from '../../../contracts/errors.ts';
import type { CommandResult } from '../../../sandbox/api/commands.ts';

/** What ended a call's use of its sandbox from outside, independent of how the tool handles it. */
export type OutsideEnding =
  | { kind: 'interrupted'; result?: CommandResult }
  /** The container died. */
  | { kind: 'lost'; error: unknown }
  /** Docker, the supervisor or the database cannot be reached; a later attempt may attach. */
  | { kind: 'unreachable'; error: unknown }
  | { kind: 'detached' };

const UNREACHABLE: ErrorCode[] = [
  'SANDBOX_UNREACHABLE',
  'NO_HOST',
  'HOSTS_AWAY',
  'HOST_FULL',
  'HOST_DISK_FULL',
  'SANDBOX_SUPERSEDED',
  'SANDBOX_CONFLICT',
  'DOCKER_UNAVAILABLE',
  'DOCKER_FAILED',
  'POSTGRES_UNAVAILABLE',
  'POSTGRES_FULL',
  'BLOB_FAILED',
];

/** The first ending counts. */
export function createFate(callId: string) {
  let ending: OutsideEnding | undefined;
  const refusal = (): unknown => {
    if (ending?.kind === 'lost' || ending?.kind === 'unreachable') return ending.error;
    return ending?.kind === 'interrupted' ? failure('INTERRUPTED', { callId }) : failure('DETACHED', { execId: callId });
  };
  return {
    ending: () => ending,
    /** The error for further use of the sandbox. */
    refusal,
    end(how: OutsideEnding): unknown {
      ending ??= how;
      return refusal();
    },
    /** As `end`, when the error says that something ended. Undefined when the error is the tool's own, or comes after the end. */
    endBy(error: unknown): unknown {
      const how = endingOf(error);
      if (!how || ending) return undefined;
      ending = how;
      return refusal();
    },
  };
}

export async function unlessEnded<T>({ ending, refusal }: Pick<ReturnType<typeof createFate>, 'ending' | 'refusal'>, use: () => Promise<T>): Promise<T> {
  if (ending()) throw refusal();
  return use();
}

function endingOf(error: unknown): OutsideEnding | undefined {
  if (!isFailure(error)) return undefined;
  if (error.code === 'SANDBOX_LOST') return { kind: 'lost', error };
  if (error.code === 'INTERRUPTED') return { kind: 'interrupted' };
  return UNREACHABLE.includes(error.code) ? { kind: 'unreachable', error } : undefined;
}
