import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { failure } from '../../contracts/errors.ts';
import { isAbsent } from './temporal-failures.ts';

const { SCHEDULE_OVERLAP_POLICY_ALLOW_ALL: overlapPolicy } = proto.temporal.api.enums.v1.ScheduleOverlapPolicy;

/** Runs a schedule now. Temporal takes requests that have the same id for one; the SDK's own call gives each another id. */
export async function triggerOnce(client: Client, scheduleId: string, requestId: string): Promise<void> {
  const { namespace, identity } = client.options;
  try {
    await client.workflowService.patchSchedule({ namespace, identity, scheduleId, requestId, patch: { triggerImmediately: { overlapPolicy } } });
  } catch (error) {
    throw isAbsent(error) ? failure('SCHEDULE_NOT_FOUND', { scheduleId }, error) : error;
  }
}
