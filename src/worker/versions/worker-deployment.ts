import type { NativeConnection, WorkerDeploymentOptions } from '@temporalio/worker';
import { failure } from '../../contracts/errors.ts';
import type { Config } from '../../platform/config.ts';

type Settings = Pick<Config, 'LONGSHORE_TASK_QUEUE'> & Partial<Pick<Config, 'LONGSHORE_WORKER_VERSION' | 'LONGSHORE_PINNED_TURNS'>>;

/** The first server that says to a pinned workflow that another version has become the current one, and moves it with a new run. */
const PINNING_SINCE = [1, 30] as const;

/**
 * A worker's place among the versions of its task queue; undefined without a version. A conversation goes on with the current version from its next task on; its
 * code is made for that (`patched`). With pinned turns, it does so between turns (`isToMove` in src/workflows/conversation.ts).
 */
export function workerDeployment({
  LONGSHORE_TASK_QUEUE: deploymentName,
  LONGSHORE_WORKER_VERSION: buildId,
  LONGSHORE_PINNED_TURNS: pinned,
}: Settings): WorkerDeploymentOptions | undefined {
  if (buildId === undefined) return undefined;
  return { useWorkerVersioning: true, version: { deploymentName, buildId }, defaultVersioningBehavior: pinned === 'yes' ? 'PINNED' : 'AUTO_UPGRADE' };
}

/**
 * On an older server, pinned conversations would never leave the version that began them.
 * @throws CONFIG_INVALID when turns are to be pinned and cannot be
 */
export async function checkPinning(
  { LONGSHORE_PINNED_TURNS: pinned, LONGSHORE_WORKER_VERSION: version }: Settings,
  connection: NativeConnection,
): Promise<void> {
  if (pinned !== 'yes') return;
  const name = 'LONGSHORE_PINNED_TURNS';
  if (version === undefined) throw failure('CONFIG_INVALID', { name, problem: 'this worker has no version', fix: 'Set LONGSHORE_WORKER_VERSION' });
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  if (canPin(serverVersion ?? '')) return;
  const problem = `Temporal's server is ${serverVersion || 'of an unknown version'}, and moves pinned conversations from ${PINNING_SINCE.join('.')} on`;
  throw failure('CONFIG_INVALID', { name, problem, fix: 'Update the server, or unset it' });
}

function canPin(serverVersion: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)\./.exec(serverVersion) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) > PINNING_SINCE[0] || (Number(major) === PINNING_SINCE[0] && Number(minor) >= PINNING_SINCE[1]);
}
