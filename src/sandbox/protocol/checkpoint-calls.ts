import { failure, isFailure } from '../../contracts/errors.ts';
import type { CheckpointStreams, SandboxCheckpoints } from '../api/checkpoints.ts';
import type { Caller } from './caller.ts';
import { parseLines } from './lines.ts';

/** The operations on checkpoints. Each but the stream may be sent twice: the supervisor knows the key of the last one. */
export function createCheckpointCalls(caller: Caller): SandboxCheckpoints & CheckpointStreams {
  return {
    createCheckpoint: ({ key, keep }) => known(caller, 0, () => caller.call({ operation: 'createCheckpoint', fields: () => ({ key, keep }) })),
    packCheckpoint: ({ number, at }, streams, onData, { signal }) =>
      known(caller, number, () =>
        caller.call({
          operation: 'packCheckpoint',
          fields: () => ({ number, at, ...(streams.length > 0 && { known: streams.map((stream) => `${stream.to} ${stream.bytes} ${stream.at}`) }) }),
          onData,
          once: true,
          signal,
        }),
      ),
    checkpoints: () => known(caller, 0, async () => (await parseLines(caller, 'listCheckpoints', {})).lines),
    restoreCheckpoint: ({ number, at }, { key, keep }) =>
      known(caller, number, async () => {
        const end = await caller.call({ operation: 'restoreCheckpoint', fields: () => ({ number, at, key, keep }) });
        const { paths = [], problems = [], ...restored } = end;
        return { ...restored, problems: paths.map((path, index) => ({ path, problem: problems[index] ?? '' })) };
      }),
  };
}

/** Runs an operation on a checkpoint, with its failures as errors of checkpoints. */
export async function known<T>({ sandboxId }: Caller, number: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (isFailure(error, 'FILE_NOT_FOUND')) throw failure('CHECKPOINT_NOT_FOUND', { checkpoint: number, conversationId: sandboxId });
    if (isFailure(error, 'FILE_FAILED') || isFailure(error, 'FILE_CHANGED')) throw failed(sandboxId, String(error.values['problem']));
    // Of a supervisor in an earlier image.
    const isUnknown = isFailure(error, 'INVALID_ARGUMENT') && String(error.values['problem']).includes('the operation is unknown');
    throw isUnknown ? failed(sandboxId, 'its image is of an earlier version, which has none; build it again') : error;
  }
}

function failed(sandboxId: string, problem: string): Error {
  return failure('CHECKPOINT_FAILED', { sandboxId, problem });
}
