import type { Client } from '@temporalio/client';
import type { ConversationState } from '../../contracts/conversation.ts';
import type { Config } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import { startRounds } from '../../platform/start-rounds.ts';
import type { Store } from '../../store/store.ts';

const EVERY_MS = 60_000;
const AT_ONCE = 8;
/** A conversation in one of these states moves as soon as it is woken; others move when their turn has ended. */
const RESTS: readonly ConversationState[] = ['idle', 'paused'];

interface Parts {
  client: Pick<Client, 'workflow' | 'workflowService'>;
  store: Pick<Store, 'conversations'>;
  tell: (conversationId: string, signal: string) => Promise<void>;
  log: Logger;
  config: Pick<Config, 'LONGSHORE_TASK_QUEUE' | 'TEMPORAL_NAMESPACE'> & Partial<Pick<Config, 'LONGSHORE_WORKER_VERSION' | 'LONGSHORE_PINNED_TURNS'>>;
}

/**
 * With pinned turns, wakes conversations that rest with an older version once this worker's version is the current one, so that they move to it: a conversation
 * learns of a new version with its next workflow task, and one that waits for weeks has none.
 */
export function startMovingResting(parts: Parts): { stop(): Promise<void> } {
  const { LONGSHORE_PINNED_TURNS: pinned, LONGSHORE_WORKER_VERSION: version } = parts.config;
  if (pinned !== 'yes' || version === undefined) return { stop: async () => undefined };
  const stopped = new AbortController();
  const rounds = startRounds({
    everyMs: EVERY_MS,
    work: () => moveResting(parts, version, stopped.signal),
    onFailure: (error) => parts.log.warn({ err: error }, 'conversations that rest with an older version could not be moved'),
  });
  return {
    async stop() {
      stopped.abort();
      await rounds.stop();
    },
  };
}

async function moveResting({ client, store, tell, log, config }: Parts, version: string, signal: AbortSignal): Promise<void> {
  const { LONGSHORE_TASK_QUEUE: deploymentName, TEMPORAL_NAMESPACE: namespace } = config;
  const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment({ namespace, deploymentName });
  if (workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId !== version) return;
  const pinnedElsewhere = client.workflow.list({ query: pinnedTo(deploymentName, version) })[Symbol.asyncIterator]();
  let moved = 0;
  const work = async () => {
    for (let next = await pinnedElsewhere.next(); !next.done && !signal.aborted; next = await pinnedElsewhere.next()) {
      const { workflowId } = next.value;
      const row = await store.conversations.get(workflowId);
      if (row === undefined || !RESTS.includes(row.state)) continue;
      await tell(workflowId, 'newVersion');
      moved += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (moved > 0) log.info({ conversations: moved, version }, 'conversations that rest are moved to the current version');
}

/** Finds conversations that are pinned to any version but the given one. */
function pinnedTo(deploymentName: string, version: string): string {
  const queue = deploymentName.replaceAll("'", "''");
  return [
    `TaskQueue = '${queue}'`,
    `ExecutionStatus = 'Running'`,
    `TemporalWorkflowVersioningBehavior = 'Pinned'`,
    `TemporalWorkerDeploymentVersion != '${queue}:${version}'`,
  ].join(' AND ');
}
