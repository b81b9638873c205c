import { condition } from '@temporalio/workflow';

/**
 * Waits until all that came with the same workflow task was processed. A worker that dies just after a turn has ended in the log, and before Temporal has it, leaves a
 * workflow task in which messages to the turn are handled before what ended it. Makes no command.
 */
export async function afterTask(): Promise<void> {
  let begun = false;
  void Promise.resolve().then(() => (begun = true));
  // Conditions are looked at before promises go on, and again when none of them can.
  await condition(() => begun);
}
