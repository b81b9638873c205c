import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Fails a workflow task in which a local activity ends right after a query was answered; Temporal then begins the task again, with a replay.
 *
 * Temporal's core (seen in 1.24.0) answers a query at once. When a local activity has ended meanwhile, its marker is completed with the task that has the query, and the
 * workflow learns of it in the next task. A replay resolves it in the task that has its marker, where code that follows may act differently: signals that came in between
 * come after it, and patches that it asks for first are not known. Without this failure, such a run could not be replayed; after it, the run itself follows the replay.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  // Whether the activation was of queries; jobs may come in two batches, which have the same one before them.
  let [isOfQueries, followsQueries] = [false, false];
  return {
    inbound: [],
    outbound: [],
    internals: [
      {
        activate(input, next) {
          const { jobs, isReplaying } = input.activation;
          if (input.batchIndex === 0) [followsQueries, isOfQueries] = [isOfQueries, jobs?.some(({ queryWorkflow }) => queryWorkflow) ?? false];
          const endsLocally = jobs?.some(({ resolveActivity }) => resolveActivity?.isLocal === true);
          if (endsLocally && followsQueries && isReplaying !== true)
            throw new Error('A query was answered while a local activity ended. The workflow task begins again, so that a replay finds the same order.');
          next(input);
        },
      },
    ],
  };
};
