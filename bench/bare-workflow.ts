import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** The least that a durable step can be: one activity that does nothing, `count` times in a row. */
export async function bare(count: number): Promise<void> {
  for (let step = 0; step < count; step++) await nothing();
}
