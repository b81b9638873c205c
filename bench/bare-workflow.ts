import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** The least that a durable step can be: one activity that does nothing, `count` times in a row. */
export async function bare(count: number): Promise<void> {
  for (let step = 0; step < count; step++) await nothing();
}

/** The least that a durable answer to a message can be: an update, and an activity that it leads to. */
export async function bareUpdates(): Promise<void> {
  let waiting = 0;
  setHandler(defineUpdate('go'), () => void (waiting += 1));
  setHandler(defineUpdate('goAndWait'), nothing);
  for (;;) {
    await condition(() => waiting > 0);
    waiting -= 1;
    await nothing();
  }
}
